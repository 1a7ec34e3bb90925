// npm run image [-- --base IMAGE] [--archive FILE]: builds the image of the Dockerfile, starts its processes as Kubernetes does, against real
// servers, and writes its SBOM to .cache/image/. Needs root on Linux. Without --base it makes a base image of this machine's files, so that
// it needs no registry.
import './launcher/node-version.mjs';
import path from 'node:path';
import { Buildah } from './launcher/buildah.mjs';
import { buildImage, makeBase, megabytesOf, mountImage, NAME, takeSbom } from './launcher/image-build.mjs';
import { tryImage } from './launcher/image-trial.mjs';
import { programsFor } from './launcher/programs.mjs';
import { run } from './launcher/run.mjs';
import { Failure, readArguments, say, step } from './launcher/terminal.mjs';

const USAGE = 'npm run image [-- --base IMAGE] [--archive FILE]';
const OPTIONS = { base: { type: 'string' }, archive: { type: 'string' } };
const MOST_MEGABYTES = 250;

await run(async ({ args, children }) => {
  const { values } = readArguments(args, OPTIONS, USAGE);
  if (process.getuid?.() !== 0)
    throw new Failure('buildah and runc need root here: run this as root on Linux.');
  const { found, missing, complaint } = await programsFor(['buildah', 'runc'], children);
  if (missing.length > 0)
    throw new Failure(
      `${missing.join(' and ')} cannot be found.${complaint ? ` apt-get failed with:\n${complaint}` : ''}`,
    );

  const buildah = await Buildah.open(children, found.buildah.file);
  const base = values.base ?? (await makeBase(buildah, children));
  await step('building the image', () => buildImage(buildah, base, children));
  const image = await mountImage(buildah);
  try {
    const size = megabytesOf(path.join(image.root, 'app'));
    say(`${size.toFixed(0)} MB without the base image, ${takeSbom(image.root)} packages in its SBOM`);
    if (size > MOST_MEGABYTES) throw new Failure(`The image may have ${MOST_MEGABYTES} MB without its base.`);
    await tryImage(children, found.runc.file, image);
  } finally {
    await image.unmount();
  }
  if (values.archive) await buildah.run('push', NAME, `docker-archive:${path.resolve(values.archive)}`);
  return 0;
});
