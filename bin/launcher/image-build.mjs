// Builds the image of the Dockerfile, measures it and takes its SBOM out.
import { existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { IMAGE_FOLDER, policyFile } from './buildah.mjs';
import { readJson, root, writeAtomically } from './files.mjs';
import { fillBase } from './image-base.mjs';
import { nodeRelease } from './node-release.mjs';
import { Failure, step } from './terminal.mjs';

export const NAME = 'localhost/pacekeeper';
const BASE = 'localhost/pacekeeper-base';
const NODE = 24; // the Node of the Dockerfile

/** Makes the base image of this machine's files and returns its name. */
export async function makeBase(buildah, children) {
  const node = await nodeRelease(NODE, children);
  const folder = path.join(IMAGE_FOLDER, 'base');
  await step('making a base image of this machine', async () => {
    fillBase(folder, node);
    const dockerfile = path.join(IMAGE_FOLDER, 'base.Dockerfile');
    writeFileSync(dockerfile, 'FROM scratch\nCOPY . /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n');
    await build(buildah, '--tag', BASE, '--file', dockerfile, folder);
  });
  return BASE;
}

/** Builds the image. npm in the build uses the cache, the certificates and the configuration of this machine. */
export async function buildImage(buildah, base, children) {
  const npmCache = path.join(IMAGE_FOLDER, 'npm');
  mkdirSync(npmCache, { recursive: true });
  // The last line, because npm may print warnings before its answer.
  const answerOf = async (file, ...args) => {
    const { code, output } = await children.run(file, file, args, { cwd: root });
    return code === 0 ? output.trim().split('\n').at(-1) : '';
  };
  const mounts = [
    [npmCache, '/root/.npm'],
    ['/etc/ssl/certs', '/etc/ssl/certs:ro'],
    [path.join(homedir(), '.npmrc'), '/root/.npmrc:ro'],
    [await answerOf('npm', 'config', 'get', 'globalconfig'), '/usr/local/etc/npmrc:ro'],
  ].filter(([from]) => existsSync(from));
  await build(
    buildah,
    ...['--tag', NAME, '--build-arg', `NODE_IMAGE=${base}`],
    ...['--build-arg', `COMMIT=${await answerOf('git', 'rev-parse', '--short', 'HEAD')}`],
    ...mounts.flatMap(([from, to]) => ['--volume', `${from}:${to}`]),
    root,
  );
}

// `docker` keeps the HEALTHCHECK, which the format of OCI does not have. `chroot` needs no daemon and no cgroups. With `layers` the next build
// reuses the steps before the first change.
const build = (buildah, ...args) =>
  buildah.run(
    ...['build', '--isolation', 'chroot', '--format', 'docker', '--layers'],
    ...['--signature-policy', policyFile()],
    ...args,
  );

/** Mounts the image. Returns its root folder, its configuration and the function that unmounts it. */
export async function mountImage(buildah) {
  const container = await buildah.run('from', '--pull-never', '--signature-policy', policyFile(), NAME);
  const folder = await buildah.run('mount', container);
  const { Docker } = JSON.parse(await buildah.run('inspect', '--type', 'image', NAME));
  return { root: folder, config: Docker.config, unmount: () => buildah.run('rm', container) };
}

/** The megabytes of all files below the folder. */
export function megabytesOf(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  const bytes = files.map((entry) => lstatSync(path.join(entry.parentPath, entry.name)).size);
  return bytes.reduce((sum, size) => sum + size, 0) / 1e6;
}

/** Copies the SBOM out of the image, and returns the number of packages in it. Fails if it is no CycloneDX document of our packages. */
export function takeSbom(rootFolder) {
  const sbom = readJson(path.join(rootFolder, 'app', 'sbom.cdx.json'));
  const names = sbom?.components?.map(({ name }) => name) ?? [];
  const expected = Object.keys(readJson(path.join(root, 'package.json')).dependencies);
  const missing = expected.filter((name) => !names.includes(name.split('/').at(-1)) && !names.includes(name));
  if (sbom?.bomFormat !== 'CycloneDX' || missing.length > 0)
    throw new Failure(`The SBOM of the image is no CycloneDX document, or lacks ${missing.join(', ')}.`);
  writeAtomically(path.join(IMAGE_FOLDER, 'pacekeeper.cdx.json'), JSON.stringify(sbom, null, 2));
  return names.length;
}
