import path from 'node:path';
import { Failure } from './failure.mjs';
import { readJson } from './files.mjs';
import { whileHolding } from './lock.mjs';
import { cacheFolder, inRoot, root } from './paths.mjs';
import { step } from './progress.mjs';

const INSTALL = ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--include=dev'];

/** Installs the packages of package-lock.json unless exactly they are installed. */
export async function ensurePackages(children) {
  if (areInstalled()) return;
  await whileHolding(path.join(cacheFolder, 'packages.lock'), async () => {
    if (areInstalled()) return;
    await step('installing packages', () => install(children));
  });
}

function areInstalled() {
  const lockfile = readJson(inRoot('package-lock.json'));
  // npm writes its record last, so a killed installation has none; but it writes one without installing, too.
  const record = readJson(inRoot('node_modules', '.package-lock.json'));
  return isInstalledFrom(lockfile, record) && areOnDisk(record);
}

/** Whether npm's record of node_modules names the packages of this lockfile, each in the same version. */
export function isInstalledFrom(lockfile, record) {
  if (!lockfile || !record) return false;
  const { '': ourselves, ...wanted } = lockfile.packages;
  const installed = record.packages;
  const isSame = (name) =>
    wanted[name]?.version === installed[name].version &&
    wanted[name]?.integrity === installed[name].integrity;
  // Optional ones are for other machines' processors and systems.
  const isThere = (name) => name in installed || wanted[name].optional || wanted[name].devOptional;
  return Object.keys(installed).every(isSame) && Object.keys(wanted).every(isThere);
}

function areOnDisk({ packages }) {
  const isOnDisk = ([name, { version }]) => readJson(inRoot(name, 'package.json'))?.version === version;
  return Object.entries(packages).every(isOnDisk);
}

async function install(children) {
  const ownNodeFirst = `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`;
  const env = { ...process.env, PATH: ownNodeFirst };
  const { code, output } = await children.run('npm ci', 'npm', INSTALL, { cwd: root, env });
  if (code !== 0) throw new Failure(`npm could not install the packages:\n${firstLines(output)}`);
}

// npm says what is wrong first, then recites its manual.
const firstLines = (output) => output.trimEnd().split('\n').slice(0, 12).join('\n');
