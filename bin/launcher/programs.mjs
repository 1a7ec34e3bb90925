// Finds the programs that Pacekeeper needs on this machine. Installs missing programs if we are root and there is apt-get.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Failure, say, step } from './terminal.mjs';

const SERVICE_POLICY = '/usr/sbin/policy-rc.d';
const WAIT_FOR_LOCK = 'DPkg::Lock::Timeout=300'; // seconds that apt waits for another installation to end
const APT_GRACE_MS = 300_000; // apt ends only after a running dpkg, and a half-installed package is worse than the wait

const USUAL_FOLDERS = [
  '/usr/bin',
  '/usr/sbin',
  '/usr/local/bin',
  '/usr/local/sbin',
  '/opt/homebrew/bin',
  '/opt/local/bin',
];

/** For each program: its name in messages, the oldest version that works, its Debian package, and the files to try, in order. */
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
  pgbouncer: {
    title: 'PgBouncer',
    minimum: '1.12',
    debianPackage: 'pgbouncer',
    candidates: () => [process.env.PGBOUNCER_PATH, ...inFolders(['pgbouncer'])].filter(isProgram),
  },
  // The package also has promtool, which the tests of the rules run.
  prometheus: {
    title: 'Prometheus',
    minimum: '2.40',
    debianPackage: 'prometheus',
    candidates: () => [process.env.PROMETHEUS_PATH, ...inFolders(['prometheus'])].filter(isProgram),
  },
  kubectl: {
    title: 'kubectl',
    minimum: '1', // its output names the major version first
    debianPackage: 'kubernetes-client',
    candidates: () => inFolders(['kubectl']),
    versionArguments: ['version', '--client'],
  },
  buildah: {
    title: 'buildah',
    minimum: '1.23',
    debianPackage: 'buildah',
    candidates: () => inFolders(['buildah']),
  },
  runc: {
    title: 'runc',
    minimum: '1.0',
    debianPackage: 'runc',
    candidates: () => inFolders(['runc']),
  },
};

const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MAC_CHROME = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/** The first file that runs, is new enough and satisfies `suits`, as `{ file, version }`; null when there is none. */
export function find(name, suits = () => true) {
  const { candidates, minimum, versionArguments } = programs[name];
  for (const file of candidates()) {
    const version = versionOf(file, versionArguments);
    if (version && isAtLeast(version, minimum) && suits(version)) return { file, version };
  }
  return null;
}

/** Compares versions number by number: '2.10.1' is at least '2.9.4'. */
export function isAtLeast(version, minimum) {
  const have = version.split('.').map(Number);
  const need = minimum.split('.').map(Number);
  for (const [place, needed] of need.entries()) {
    const difference = (have[place] ?? 0) - needed;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** Installs missing programs if it may. Returns the found programs, the names of those still missing, and the error of apt-get. */
export async function programsFor(names, children) {
  let complaint = null;
  const absent = names.filter((name) => !find(name));
  if (absent.length > 0 && canInstall()) {
    complaint = await install(absent, children);
  }
  const found = Object.fromEntries(names.map((name) => [name, find(name)]).filter(([, program]) => program));
  return { found, missing: names.filter((name) => !found[name]), complaint };
}

/** The path of the browser that `programsFor` has found. */
export function browserIn({ found, complaint }) {
  if (found.chromium) return found.chromium.file;
  throw new Failure(
    'The browser tests need Chromium or Chrome: install one (on Debian: apt-get install chromium), or set CHROMIUM_PATH.' +
      (complaint ? `\napt-get failed with:\n${complaint}` : ''),
  );
}

/** The path of a program that only some tests need. If it is missing, returns undefined and prints that these tests are skipped. */
export function optionalIn(name, { found, complaint }) {
  if (found[name]) return found[name].file;
  const { title, debianPackage } = programs[name];
  say(`${title} is not installed, so its tests are skipped (on Debian: apt-get install ${debianPackage}).`);
  if (complaint) say(`apt-get failed with:\n${complaint}`);
  return undefined;
}

/** The version that a program prints, or null if it does not run. */
export function versionOf(file, versionArguments = ['--version']) {
  try {
    const text = execFileSync(file, versionArguments, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 20_000,
    });
    return text.match(/\d+(\.\d+)*/)?.[0] ?? null;
  } catch {
    return null; // the file does not run: it is broken, or a stub such as Ubuntu's chromium-browser
  }
}

function inFolders(names, extraFolders = []) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), ...USUAL_FOLDERS, ...extraFolders];
  const files = folders.filter(Boolean).flatMap((folder) => names.map((name) => path.join(folder, name)));
  return [...new Set(files)].filter(isProgram);
}

// Distributions install the server outside PATH, in one folder for each major version.
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
    return []; // another distribution
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

const canInstall = () => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

/** Installs the packages of these programs with apt-get. Returns null, or the end of its output when it failed. */
async function install(names, children) {
  const packages = names.map((name) => programs[name].debianPackage);
  say(
    `Not found on this machine: ${names.map((name) => programs[name].title).join(', ')}. ` +
      `You are root, so apt-get installs these packages for the whole machine: ${packages.join(', ')}.`,
  );
  const allowServices = forbidServices(children);
  return step(`installing ${packages.join(', ')} with apt-get`, async () => {
    const apt = (...args) =>
      children.run('apt-get', '/usr/bin/apt-get', ['-o', WAIT_FOR_LOCK, '-q', '-y', ...args], {
        // With RUNLEVEL=1, a package that looks at the runlevel does not start its service.
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
        endSignal: 'SIGINT',
        graceMs: APT_GRACE_MS,
      });
    // If the update fails, the package lists of an earlier update may still be good enough.
    const update = await apt('update');
    const installed = await apt('install', '--no-install-recommends', ...packages);
    allowServices();
    if (installed.code === 0 && names.every((name) => find(name))) return null;
    return lastEightLines(update.code === 0 ? installed.output : update.output + installed.output);
  });
}

// The packages would start services of the machine. Pacekeeper runs private servers, so a policy forbids services during the installation.
function forbidServices(children) {
  if (existsSync(SERVICE_POLICY)) return () => {};
  const remove = children.discardAtEnd(SERVICE_POLICY);
  writeFileSync(
    SERVICE_POLICY,
    '#!/bin/sh\n# Written by Pacekeeper during an installation, removed afterwards.\nexit 101\n',
    { mode: 0o755 },
  );
  return remove;
}

const lastEightLines = (output) => output.trimEnd().split('\n').slice(-8).join('\n');
