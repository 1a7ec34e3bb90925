import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { readJson, writeAtomically } from './files.mjs';
import { whileHolding } from './lock.mjs';
import { cacheFolder, inRoot, root, tool } from './paths.mjs';
import { step } from './progress.mjs';

const RECORD = path.join(cacheFolder, 'build.json'); // of the last build that succeeded
const INCREMENTAL = path.join(cacheFolder, 'build.tsbuildinfo');
const CONFIGURATION = ['tsconfig.json', 'tsconfig.build.json', 'package.json', 'package-lock.json'];
const ASSETS = ['.sql', '.lua', '.html', '.css', '.mp4', '.json'];

/** Builds dist/ unless it already is what the sources say; finding that out takes milliseconds. */
export async function ensureBuilt(children) {
  if (isUpToDate()) return;
  await whileHolding(path.join(cacheFolder, 'build.lock'), async () => {
    if (!isUpToDate()) await step('building', () => build(children));
  });
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
  forgetUnlessWhole(record);

  // A build that fails has written something too; the next one has to know of it.
  const everWritten = [...new Set([...(record?.outputs ?? []), ...outputs])];
  writeAtomically(RECORD, JSON.stringify({ fingerprint: null, outputs: everWritten }));
  await compile(children);
  for (const asset of assets) copy(asset);
  removeStale(everWritten, outputs);
  writeAtomically(RECORD, JSON.stringify({ fingerprint: builtFrom, outputs }));
}

async function compile(children) {
  const args = [tool('typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json', '--pretty', 'false'];
  const { code, output } = await children.run('tsc', process.execPath, args, { cwd: root });
  if (code !== 0) throw new Failure(`The build failed:\n${output.trimEnd()}`);
}

// tsc writes only what changed since its notes: without all of its earlier output the notes are worth nothing.
function forgetUnlessWhole(record) {
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

// 'apps/*/src' → the source folders there are.
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
