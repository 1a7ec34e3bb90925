import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { EndOrder } from '../children.mjs';
import { endInOrder } from '../ending.mjs';
import { Failure } from '../failure.mjs';
import { bornAt } from '../process-identity.mjs';
import { find } from '../programs.mjs';
import { answers, postgresProbe } from './probes.mjs';
import { databaseFolder } from './postgres-folder.mjs';
import { waitUntilReady } from './readiness.mjs';

const NAME = 'pacekeeper'; // role and database
// Postgres ends on SIGINT without waiting for its clients, on SIGQUIT without even writing its memory out.
const ENDING = { endSignal: 'SIGINT', forceSignal: 'SIGQUIT', endOrder: EndOrder.postgres };
const FOR_TESTS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: 200 };

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
  await waitUntilReady('PostgreSQL', child, () => answers({ port, ...postgresProbe }));
  return `postgres://${NAME}:${passwordIn(home)}@127.0.0.1:${port}/${NAME}`;
}

// Made beside its final place and renamed at the end: a killed run leaves no half of a database.
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

// Data written by one major version is read by that one only.
function programFor(data, program) {
  const versionFile = path.join(data, 'PG_VERSION');
  if (!existsSync(versionFile)) return program;
  const major = readFileSync(versionFile, 'utf8').trim();
  const suitable = find('postgres', (version) => version.split('.')[0] === major);
  if (suitable) return suitable;
  throw new Failure(
    `${data} was written by PostgreSQL ${major}, which is not installed: install it, or \`npm run reset\`.`,
  );
}

/**
 * A server that a killed launcher and its killed keeper left running on this data is ours, and ended. The file naming
 * it may also be stale and its pid recycled by a stranger, who must not be hit nor keep us from starting.
 */
async function endEarlierServer(data) {
  const pidFile = path.join(data, 'postmaster.pid');
  if (!existsSync(pidFile) || process.platform !== 'linux') return;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  if (workingFolderOf(pid) !== realpathSync(data)) return rmSync(pidFile);
  await endInOrder([{ pid, born: bornAt(pid), graceMs: 25_000, ...ENDING }]);
}

// The postmaster works inside its data folder.
function workingFolderOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

const passwordFileIn = (home) => path.join(home, 'password');
const passwordIn = (home) => readFileSync(passwordFileIn(home), 'utf8');

// Postgres refuses to run as root.
function serverUser() {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (!user)
    throw new Failure(
      'PostgreSQL cannot run as root, and there is no user "postgres" or "nobody" to run it as.',
    );
  return { uid: Number(user[2]), gid: Number(user[3]) };
}
