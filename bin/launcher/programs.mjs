import { execFileSync } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

const USUAL_FOLDERS = [
  '/usr/bin',
  '/usr/sbin',
  '/usr/local/bin',
  '/usr/local/sbin',
  '/opt/homebrew/bin',
  '/opt/local/bin',
];

/** What we need on this machine: how it is called, which Debian package brings it, which variable stands in for it. */
export const programs = {
  postgres: {
    title: 'PostgreSQL',
    minimum: '14',
    debianPackage: 'postgresql',
    candidates: () => inFolders(['initdb'], postgresFolders()),
  },
  redis: {
    title: 'Redis',
    minimum: '6.2',
    debianPackage: 'redis-server',
    candidates: () => inFolders(['redis-server']),
  },
  nats: {
    title: 'NATS',
    minimum: '2.9.4',
    debianPackage: 'nats-server',
    candidates: () => inFolders(['nats-server']),
  },
  chromium: {
    title: 'Chromium',
    minimum: '90',
    debianPackage: 'chromium',
    candidates: () => [process.env.CHROMIUM_PATH, ...inFolders(CHROMIUM_NAMES), MAC_CHROME].filter(isProgram),
  },
};

const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MAC_CHROME = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/** `{ file, version }` of the first one that runs and is new enough (and satisfies `suits`), or null. */
export function find(name, suits = () => true) {
  const { candidates, minimum } = programs[name];
  for (const file of candidates()) {
    const version = versionOf(file);
    if (version && isAtLeast(version, minimum) && suits(version)) return { file, version };
  }
  return null;
}

/** '2.10.1' is at least '2.9.4': numbers, not text. */
export function isAtLeast(version, minimum) {
  const have = version.split('.').map(Number);
  const need = minimum.split('.').map(Number);
  for (const [place, needed] of need.entries()) {
    const difference = (have[place] ?? 0) - needed;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function versionOf(file) {
  try {
    const text = execFileSync(file, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 20_000,
    });
    return text.match(/\d+(\.\d+)*/)?.[0] ?? null;
  } catch {
    return null; // a stub (Ubuntu's chromium-browser) or broken: as good as absent
  }
}

function inFolders(names, extraFolders = []) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), ...USUAL_FOLDERS, ...extraFolders];
  const files = folders.filter(Boolean).flatMap((folder) => names.map((name) => path.join(folder, name)));
  return [...new Set(files)].filter(isProgram);
}

// Distributions keep the server out of PATH, one folder a major version.
function postgresFolders() {
  return [
    ...versionFolders('/usr/lib/postgresql', /^\d+$/, 'bin'),
    ...versionFolders('/usr', /^pgsql-\d+$/, 'bin'),
    ...versionFolders('/opt/homebrew/opt', /^postgresql(@\d+)?$/, 'bin'),
    ...versionFolders('/usr/local/opt', /^postgresql(@\d+)?$/, 'bin'),
  ];
}

function versionFolders(parent, pattern, below) {
  let names = [];
  try {
    names = readdirSync(parent).filter((name) => pattern.test(name));
  } catch {
    return []; // not this distribution
  }
  const newestFirst = (a, b) => b.localeCompare(a, 'en', { numeric: true });
  return names.sort(newestFirst).map((name) => path.join(parent, name, below));
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
