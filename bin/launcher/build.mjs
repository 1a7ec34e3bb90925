// dist/: compiles the sources with tsc, copies the other files of the product, bundles the npm packages and builds the console.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { ensurePackagesBundled } from './bundle.mjs';
import { ensureConsoleBuilt } from './console.mjs';
import { cacheFolder, inRoot, isReleased, readJson, root, whileHolding, writeAtomically } from './files.mjs';
import { tool } from './packages.mjs';
import { environment, Failure, step } from './terminal.mjs';

const RECORD = path.join(cacheFolder, 'build.json'); // of the last build that succeeded
const INCREMENTAL = path.join(cacheFolder, 'build.tsbuildinfo');
const BUILD_INFO = inRoot('dist', 'build-info.json');
const CONFIGURATION = ['tsconfig.json', 'tsconfig.build.json', 'package.json', 'package-lock.json'];
const ASSETS = ['.sql', '.lua', '.html', '.css', '.mp4', '.json'];

/** Builds dist/ if it is not up to date. The check compares times and sizes of the sources and takes milliseconds. */
export async function ensureBuilt(children) {
  if (isReleased) return;
  if (!isUpToDate())
    await whileHolding(path.join(cacheFolder, 'build.lock'), async () => {
      if (!isUpToDate()) await step('building', () => build(children));
    });
  await ensurePackagesBundled(children);
  await ensureConsoleBuilt(children);
  await recordCommit(children);
}

function isUpToDate() {
  const record = readJson(RECORD);
  return (
    record?.fingerprint === fingerprint(sources()) && record.outputs.every((file) => existsSync(inRoot(file)))
  );
}

async function build(children) {
  const files = sources();
  const builtFrom = fingerprint(files);
  const assets = files.filter(isAsset);
  const outputs = [...files.filter(isCompiled).map(outputOf), ...assets.map(inDist)];
  const record = readJson(RECORD);
  resetIfIncomplete(record);

  // A failed build leaves files in dist/ as well. The next build must know these files, so that it can remove stale ones.
  const everWritten = [...new Set([...(record?.outputs ?? []), ...outputs])];
  writeAtomically(RECORD, JSON.stringify({ fingerprint: null, outputs: everWritten }));
  await compile(children);
  for (const asset of assets) copy(asset);
  removeStale(everWritten, outputs);
  writeAtomically(RECORD, JSON.stringify({ fingerprint: builtFrom, outputs }));
}

// The commit is not part of the fingerprint, because a new commit alone is no reason to build.
async function recordCommit(children) {
  const commit = environment.COMMIT ?? (await headOf(children));
  if (readJson(BUILD_INFO)?.commit === commit) return;
  writeAtomically(BUILD_INFO, JSON.stringify({ commit }));
}

/** The short hash of HEAD. Undefined without git, and in an archive of the sources, which has no history. */
async function headOf(children) {
  if (!existsSync(inRoot('.git'))) return undefined;
  const { code, output } = await children
    .run('git', 'git', ['rev-parse', '--short', 'HEAD'], { cwd: root })
    .catch((error) => ({ code: 1, output: error.message }));
  return code === 0 ? output.trim() : undefined;
}

async function compile(children) {
  const args = [tool('typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json', '--pretty', 'false'];
  const { code, output } = await children.run('tsc', process.execPath, args, { cwd: root });
  if (code !== 0) throw new Failure(`The build failed:\n${output.trimEnd()}`);
}

// An incremental tsc writes only changed files. If earlier output is missing, tsc must build everything.
function resetIfIncomplete(record) {
  if (!record) rmSync(inRoot('dist'), { recursive: true, force: true });
  if (!record?.outputs.every((file) => existsSync(inRoot(file)))) rmSync(INCREMENTAL, { force: true });
}

function removeStale(before, now) {
  const current = new Set(now);
  for (const file of before.filter((file) => !current.has(file))) {
    rmSync(inRoot(file), { force: true });
    rmSync(inRoot(`${file}.map`), { force: true });
  }
}

function copy(asset) {
  const target = inRoot(inDist(asset));
  mkdirSync(path.dirname(target), { recursive: true });
  copyFileSync(inRoot(asset), target);
}

const inDist = (file) => path.join('dist', file);
const outputOf = (source) => inDist(source.replace(/\.ts$/, '.js'));
const isAsset = (file) => /^(apps|libs)\//.test(file) && ASSETS.includes(path.extname(file));
const isCompiled = (file) => file.endsWith('.ts') && !/\.(d|spec|harness)\.ts$/.test(file);

/** Every file that the build reads, relative to the root. */
function sources() {
  const { include, exclude = [] } = JSON.parse(readFileSync(inRoot('tsconfig.build.json'), 'utf8'));
  const isExcluded = (file) => exclude.some((folder) => file.startsWith(`${folder}/`));
  const isSource = (file) => (isCompiled(file) || isAsset(file)) && !isExcluded(file);
  return include.flatMap(expand).flatMap(filesBelow).filter(isSource).sort();
}

// 'apps/*/src' becomes the source folders that exist.
function expand(pattern) {
  const [parent, rest] = pattern.split('/*/');
  if (!rest) return existsSync(inRoot(pattern)) ? [pattern] : [];
  if (!existsSync(inRoot(parent))) return [];
  const folders = readdirSync(inRoot(parent)).map((name) => path.join(parent, name, rest));
  return folders.filter((folder) => existsSync(inRoot(folder)));
}

function filesBelow(folder) {
  return readdirSync(inRoot(folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(file) : [file];
  });
}

function fingerprint(files) {
  const hash = createHash('sha256');
  for (const file of [...CONFIGURATION, ...files]) {
    const { mtimeMs, size } = statSync(inRoot(file));
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}
