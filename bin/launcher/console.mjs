// dist/console: the console's pages and scripts, built by Vite, and the types that it takes from the OpenAPI document.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, inRoot, readJson, root, whileHolding, writeAtomically } from './files.mjs';
import { tool } from './packages.mjs';
import { Failure, step } from './terminal.mjs';

const FOLDER = path.join('apps', 'console');
const DOCUMENT = path.join('docs', 'openapi.json');
const TYPES = path.join(FOLDER, 'src', 'api', 'schema.d.ts');
const PAGE = inRoot('dist', 'console', 'index.html');
const BUILT = path.join(cacheFolder, 'console.json'); // of the last build that succeeded
const TYPED = path.join(cacheFolder, 'console-types.json');

/** Builds dist/console if it is not up to date. The check compares times and sizes of the sources. */
export async function ensureConsoleBuilt(children) {
  if (isBuilt()) return;
  await whileHolding(path.join(cacheFolder, 'console.lock'), async () => {
    if (!isBuilt()) await step('building the console', () => build(children));
  });
}

/** Writes the types of the API's routes if they do not match docs/openapi.json. The build itself needs no types. */
export async function ensureConsoleTypes(children) {
  if (isTyped()) return;
  await whileHolding(path.join(cacheFolder, 'console.lock'), async () => {
    if (isTyped()) return;
    await runTool(
      children,
      'openapi-typescript',
      ['openapi-typescript', 'bin', 'cli.js'],
      [DOCUMENT, '-o', TYPES],
    );
    writeAtomically(TYPED, JSON.stringify({ document: documentHash() }));
  });
}

const isBuilt = () => readJson(BUILT)?.fingerprint === fingerprint() && existsSync(PAGE);
const isTyped = () => readJson(TYPED)?.document === documentHash() && existsSync(inRoot(TYPES));

async function build(children) {
  const builtFrom = fingerprint();
  rmSync(BUILT, { force: true });
  const config = path.join(FOLDER, 'vite.config.mjs');
  await runTool(
    children,
    'vite',
    ['vite', 'bin', 'vite.js'],
    ['build', FOLDER, '--config', config, '--logLevel', 'error'],
  );
  writeAtomically(BUILT, JSON.stringify({ fingerprint: builtFrom }));
}

async function runTool(children, name, program, args) {
  const { code, output } = await children.run(name, process.execPath, [tool(...program), ...args], {
    cwd: root,
    env: { ...process.env, NODE_ENV: 'production' },
  });
  if (code !== 0) throw new Failure(`The build of the console failed in ${name}:\n${output.trimEnd()}`);
}

function fingerprint() {
  const hash = createHash('sha256');
  for (const file of [DOCUMENT, 'package-lock.json', ...sources()]) {
    const { mtimeMs, size } = statSync(inRoot(file));
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}

function sources() {
  return readdirSync(inRoot(FOLDER), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => file !== TYPES && !file.endsWith('.spec.ts'))
    .sort();
}

const documentHash = () =>
  createHash('sha256')
    .update(readFileSync(inRoot(DOCUMENT)))
    .digest('hex');
