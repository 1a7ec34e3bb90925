// dist/node_modules: the npm packages of the product, each in a few files. Without it the processes load the same packages from
// node_modules, file by file: api then starts from 3,300 files instead of 900 and needs 0.4 s more processor time (docs/decisions.md).
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, inRoot, readJson, root, whileHolding, writeAtomically } from './files.mjs';
import { Failure, step } from './terminal.mjs';

const PROGRAM = inRoot('bin', 'launcher', 'bundle.main.mjs');
const FOLDER = inRoot('dist', 'node_modules');
const RECORD = path.join(cacheFolder, 'bundle.json'); // of the last bundling that succeeded

/** Bundles the packages if the bundle is not that of package-lock.json. */
export async function ensurePackagesBundled(children) {
  if (isBundled()) return;
  await whileHolding(path.join(cacheFolder, 'bundle.lock'), async () => {
    if (!isBundled()) await step('bundling packages', () => bundle(children));
  });
}

const isBundled = () => readJson(RECORD)?.fingerprint === fingerprint() && existsSync(FOLDER);

async function bundle(children) {
  rmSync(RECORD, { force: true });
  rmSync(FOLDER, { recursive: true, force: true });
  const { code, output } = await children.run('rolldown', process.execPath, [PROGRAM], { cwd: root });
  if (code === 0) return writeAtomically(RECORD, JSON.stringify({ fingerprint: fingerprint() }));
  // A process would load the packages of a part of a bundle twice.
  rmSync(FOLDER, { recursive: true, force: true });
  throw new Failure(`The bundling of the packages failed:\n${output.trimEnd()}`);
}

function fingerprint() {
  const hash = createHash('sha256');
  for (const file of [inRoot('package.json'), inRoot('package-lock.json'), PROGRAM])
    hash.update(readFileSync(file));
  return hash.digest('hex');
}
