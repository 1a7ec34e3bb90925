// The npm packages of the project.
import path from 'node:path';
import { cacheFolder, inRoot, isReleased, readJson, root, whileHolding } from './files.mjs';
import { Failure, step } from './terminal.mjs';

const INSTALL = ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--include=dev'];

/** The path of a package's program. The caller runs it with this Node. */
export const tool = (...parts) => inRoot('node_modules', ...parts);

/** Installs the packages of package-lock.json. Does nothing if exactly these packages are installed. */
export async function ensurePackages(children) {
  if (areInstalled()) return;
  await whileHolding(path.join(cacheFolder, 'packages.lock'), async () => {
    if (areInstalled()) return;
    await step('installing packages', () => install(children));
  });
}

function areInstalled() {
  if (isReleased) return true;
  const lockfile = readJson(inRoot('package-lock.json'));
  // npm writes its record at the end, so a killed installation has no record. npm can also write a record without installing
  // anything, so this checks the packages on disk as well.
  const record = readJson(inRoot('node_modules', '.package-lock.json'));
  return isInstalledFrom(lockfile, record) && areOnDisk(record);
}

/** True if npm's record of node_modules lists the packages of this lockfile, each in the same version. */
export function isInstalledFrom(lockfile, record) {
  if (!lockfile || !record) return false;
  const { '': ourselves, ...wanted } = lockfile.packages;
  const installed = record.packages;
  const isSame = (name) =>
    wanted[name]?.version === installed[name].version &&
    wanted[name]?.integrity === installed[name].integrity;
  // npm leaves out optional packages that are for another processor or operating system.
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

// npm prints the reason first and then its manual.
const firstLines = (output) => output.trimEnd().split('\n').slice(0, 12).join('\n');
