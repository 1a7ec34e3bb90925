// The last release, built in .cache/ beside this checkout. A test runs its processes on the schema of this checkout.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, root, whileHolding } from './files.mjs';
import { isAtLeast } from './programs.mjs';
import { Failure, say, step } from './terminal.mjs';

// 0.1 and 0.2 never run side by side (docs/operations/upgrade.md).
const FIRST = '0.2.0';

/** Returns the folder of the last release, or prints why its test is skipped and returns undefined. */
export async function lastRelease(children) {
  const tag = newestRelease(await tagsBefore(children));
  if (!tag) {
    say(
      `No tag of a release from v${FIRST} on is below this commit, so the test of an upgrade side by side is skipped.`,
    );
    return undefined;
  }
  // With the commit in its name, a tag that was moved is built again.
  const { output: commit } = await succeeding(git(children, 'rev-parse', '--short', `${tag}^{commit}`));
  const folder = path.join(cacheFolder, 'releases', `${tag}-${commit.trim()}`);
  await whileHolding(`${folder}.lock`, async () => {
    // The build writes this file last.
    if (existsSync(path.join(folder, 'dist', 'build-info.json'))) return;
    await step(`building the release ${tag}`, () => build(tag, folder, children));
  });
  return folder;
}

/** The newest of these tags that is a release which may run beside the next one. */
export function newestRelease(tags) {
  const versions = tags.flatMap((tag) => /^v(\d+\.\d+\.\d+)$/.exec(tag)?.[1] ?? []);
  const newest = versions
    .filter((version) => isAtLeast(version, FIRST))
    .reduce((one, other) => (one && isAtLeast(one, other) ? one : other), undefined);
  return newest && `v${newest}`;
}

/** The tags of earlier commits. None in an archive of the sources, and none without git. */
async function tagsBefore(children) {
  const { code, output } = await git(
    children,
    'tag',
    '--list',
    'v*',
    '--merged',
    'HEAD',
    '--no-contains',
    'HEAD',
  );
  return code === 0 ? output.trim().split('\n') : [];
}

async function build(tag, folder, children) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = `${folder}.tar`;
  await succeeding(git(children, 'archive', '--format=tar', `--output=${archive}`, tag));
  await succeeding(children.run('tar', 'tar', ['-xf', archive, '-C', folder]));
  rmSync(archive);
  // Its own launcher installs its packages and builds it.
  const env = { ...process.env, COMMIT: tag };
  await succeeding(children.run('npm run build', process.execPath, ['bin/build.mjs'], { cwd: folder, env }));
}

function git(children, ...args) {
  return children
    .run('git', 'git', args, { cwd: root })
    .catch((error) => ({ code: 1, output: error.message }));
}

async function succeeding(run) {
  const ended = await run;
  if (ended.code !== 0) throw new Failure(`The last release cannot be built:\n${ended.output.trimEnd()}`);
  return ended;
}
