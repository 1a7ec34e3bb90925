// A private PostgreSQL of this run: its folder, its database, its process.
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { EndOrder } from './children.mjs';
import { postgresProbe, waitUntilReady } from './ports.mjs';
import { bornAt, endInOrder } from './processes.mjs';
import { find } from './programs.mjs';
import { Failure } from './terminal.mjs';

const NAME = 'pacekeeper'; // role and database
const FAR_FOLDERS = '/var/lib/pacekeeper';
// SIGINT: Postgres disconnects its clients and shuts down. SIGQUIT: it exits at once and recovers at its next start.
const ENDING = { endSignal: 'SIGINT', forceSignal: 'SIGQUIT', endOrder: EndOrder.postgres };
const FOR_TESTS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: 500 };

/** Starts the server and returns its URL. The first run creates the database before that. */
export async function startPostgres({ children, folder, program, port, isDurable, isThrowAway }) {
  const owner = serverUser();
  const home = databaseFolder(folder, owner);
  if (isThrowAway) children.discardAtEnd(home);
  const data = path.join(home, 'data');
  const bin = path.dirname(realpathSync(programFor(data, program).file));
  const as = { ...owner, cwd: '/' };

  if (!existsSync(data)) await initialise({ children, bin, home, data, as, isDurable });
  await endEarlierServer(data);

  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    log_timezone: 'UTC',
    timezone: 'UTC',
    ...(isDurable ? {} : FOR_TESTS),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = children.start('postgres', path.join(bin, 'postgres'), ['-D', data, ...flags], {
    ...as,
    ...ENDING,
    log: path.join(folder, 'logs', 'postgres.log'),
  });
  await waitUntilReady('PostgreSQL', child, port, postgresProbe);
  return `postgres://${NAME}:${passwordIn(home)}@127.0.0.1:${port}/${NAME}`;
}

// This makes the data folder as `data.new` and renames it at the end, so that a killed run leaves no incomplete database.
async function initialise({ children, bin, home, data, as, isDurable }) {
  const draft = `${data}.new`;
  rmSync(draft, { recursive: true, force: true });
  const passwordFile = passwordFileIn(home);
  writeFileSync(passwordFile, randomBytes(18).toString('base64url'), { mode: 0o600 });
  if (as.uid !== undefined) chownSync(passwordFile, as.uid, as.gid);

  const initdb = [
    ...['-D', draft, '-U', NAME, `--pwfile=${passwordFile}`],
    ...['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-instructions'],
    ...(isDurable ? [] : ['--no-sync']),
  ];
  await succeed(children.run('initdb', path.join(bin, 'initdb'), initdb, as));
  const single = ['--single', '-D', draft, 'postgres'];
  const input = `create database ${NAME}`;
  await succeed(children.run('postgres', path.join(bin, 'postgres'), single, { ...as, input }));
  renameSync(draft, data);
}

async function succeed(running) {
  const { code, output } = await running;
  if (code !== 0) throw new Failure(`PostgreSQL cannot create its database:\n${output.trimEnd()}`);
}

// Only the major version of Postgres that wrote a data folder can read it.
function programFor(data, program) {
  const versionFile = path.join(data, 'PG_VERSION');
  if (!existsSync(versionFile)) return program;
  const major = readFileSync(versionFile, 'utf8').trim();
  const suitable = find('postgres', (version) => version.split('.')[0] === major);
  if (suitable) return suitable;
  throw new Failure(
    `PostgreSQL ${major}, which wrote ${data}, is not installed: install it, or delete the data with \`npm run reset\`.`,
  );
}

/**
 * Ends a server that still runs on this data because its launcher and its keeper were killed. Works on Linux only.
 * The pid in postmaster.pid may belong to another program by now. Then this only removes the file, because Postgres would not start
 * with it.
 */
async function endEarlierServer(data) {
  const pidFile = path.join(data, 'postmaster.pid');
  if (!existsSync(pidFile) || process.platform !== 'linux') return;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  if (workingFolderOf(pid) !== realpathSync(data)) return rmSync(pidFile);
  await endInOrder([{ pid, born: bornAt(pid), graceMs: 25_000, ...ENDING }]);
}

// Postgres changes into its data folder. So the working folder of a process shows whether the process is the server of this data.
const workingFolderOf = (pid) => linkTarget(`/proc/${pid}/cwd`);

const passwordFileIn = (home) => path.join(home, 'password');
const passwordIn = (home) => readFileSync(passwordFileIn(home), 'utf8');

// Postgres refuses to run as root. Null means that we are not root and that Postgres runs as our own user.
function serverUser() {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (!user)
    throw new Failure(
      'PostgreSQL does not run as root, and this machine has no user "postgres" or "nobody" to run it as.',
    );
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

const nearFolder = (runFolder) => path.join(runFolder, 'postgres');

/**
 * The folder of this run's database. If the server's user can enter the run's folder, the database is there. The user cannot enter
 * the run's folder if the checkout is below /root or below a private temporary folder. Then the database is in /var/lib/pacekeeper,
 * and the run's folder has a link to the database.
 */
function databaseFolder(runFolder, owner) {
  const near = nearFolder(runFolder);
  if (!owner) return makeFolder(near);
  const folder = canEnter(runFolder, owner) ? makeFolder(near) : linkedFarFolder(near);
  chownSync(folder, owner.uid, owner.gid);
  return folder;
}

/** Deletes the database of a run if it is in /var/lib/pacekeeper. A database in the run's folder is deleted with that folder. */
export function removeDatabaseFolder(runFolder) {
  const target = linkTarget(nearFolder(runFolder));
  if (target && path.dirname(target) === FAR_FOLDERS) rmSync(target, { recursive: true, force: true });
  try {
    rmdirSync(FAR_FOLDERS);
  } catch {
    // The folder does not exist, or it has the databases of other checkouts.
  }
}

function linkedFarFolder(near) {
  const far = path.join(FAR_FOLDERS, createHash('sha256').update(near).digest('hex').slice(0, 16));
  if (linkTarget(near) === far) return makeFolder(far);
  rmSync(far, { recursive: true, force: true }); // left by a deleted checkout: no link leads to it
  if (isFolder(near)) move(near, far);
  rmSync(near, { force: true });
  makeFolder(far);
  symlinkSync(far, near);
  return far;
}

// Moves a database that was made when the server's user could still enter the run's folder.
// `mv` keeps the owner and can move to another disk; a rename cannot.
function move(from, to) {
  makeFolder(path.dirname(to));
  const { status, stderr } = spawnSync('mv', [from, to], { encoding: 'utf8' });
  if (status !== 0)
    throw new Failure(`The database cannot be moved from ${from} to ${to}:\n${stderr.trim()}`);
}

function canEnter(folder, { uid, gid }) {
  return spawnSync('test', ['-x', folder], { uid, gid, cwd: '/' }).status === 0;
}

function makeFolder(folder) {
  mkdirSync(folder, { recursive: true });
  return folder;
}

function linkTarget(file) {
  try {
    return readlinkSync(file);
  } catch {
    return null;
  }
}

const isFolder = (file) => lstatSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
