import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { migrateUp } from '#platform';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { shiftedClock } from './shifted-clock.js';
import { serverUrl } from './servers.js';
import { undoneOnFailure } from './undo.js';

// The name by which a primary knows its standby.
const STANDBY = 'standby';
// Commits must survive `kill`, so synchronous_commit stays on. The machine does not crash, so fsync is not needed.
const FAST = ['fsync=off', 'full_page_writes=off', 'unix_socket_directories='];

/** A Postgres server with our schema for one test file. The test may kill the server and start it again. */
export class PostgresServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly programs: string,
    private readonly folder: string,
    readonly port: number,
    private readonly user: { readonly uid: number; readonly gid: number } | undefined,
    private readonly more: readonly string[],
    private readonly clock: Readonly<Record<string, string>>,
  ) {}

  /** `more` has further settings as `name=value`. */
  static start(...more: string[]): Promise<PostgresServer> {
    return PostgresServer.startAhead(0, ...more);
  }

  /** A server whose clock is ahead, or behind if `aheadMs` is negative. */
  static async startAhead(aheadMs: number, ...more: string[]): Promise<PostgresServer> {
    const server = await PostgresServer.create(await freePort(), more, shiftedClock(aheadMs));
    return undoneOnFailure(async (onFailure) => {
      onFailure(() => server.stop());
      const options = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
      await server.execute('initdb', '-D', server.data, ...options);
      await server.start();
      await migrateUp(server.url);
      return server;
    });
  }

  /** A streaming standby of this server. `port`: that of a server that has ended, to take its place. */
  async standby({
    port,
    more = [],
  }: { port?: number; more?: readonly string[] } = {}): Promise<PostgresServer> {
    const server = await PostgresServer.create(port ?? (await freePort()), more);
    return undoneOnFailure(async (onFailure) => {
      onFailure(() => server.stop());
      const source = `host=127.0.0.1 port=${this.port} user=postgres application_name=${STANDBY}`;
      const options = ['-X', 'stream', '-c', 'fast', '--write-recovery-conf', '--no-sync'];
      await server.execute('pg_basebackup', '-D', server.data, '-d', source, ...options);
      await server.start();
      return server;
    });
  }

  /** From now on a commit is confirmed only once a standby has it on disk. */
  async waitForStandby(): Promise<void> {
    await this.query(`alter system set synchronous_standby_names = '${STANDBY}'`);
    await this.query('select pg_reload_conf()');
    await eventually('the synchronous standby', async () => {
      const { rows } = await this.query("select from pg_stat_replication where sync_state = 'sync'");
      return rows.length > 0;
    });
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    // Its own commits have no standby to wait for.
    await this.query("alter system set synchronous_standby_names = ''");
    await this.query('select pg_promote(), pg_reload_conf()');
  }

  /** A statement of the superuser. */
  async query(text: string): Promise<pg.QueryResult> {
    const options = '-c default_transaction_read_only=off';
    const client = new pg.Client({ connectionString: this.url, options });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await client.query(text);
    } finally {
      await client.end();
    }
  }

  /** SIGSTOP and SIGCONT for all processes of the server. */
  signalAll(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    const pid = String(this.child?.pid);
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', pid], { encoding: 'utf8' })
      .trim()
      .split(/\s+/);
    // The main process first, so that it does not start or end others.
    for (const one of [pid, ...children]) signalIfAlive(Number(one), signal);
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  private static async create(
    port: number,
    more: readonly string[],
    clock: Readonly<Record<string, string>> = {},
  ): Promise<PostgresServer> {
    const as = serverUser();
    const folder = mkdtempSync(join(tmpdir(), 'pacekeeper-postgres-'));
    if (as) chownSync(folder, as.uid, as.gid);
    return new PostgresServer(await programs(), folder, port, as, more, clock);
  }

  /** Starts the server again after `kill`, with its data and on the same port. */
  async start(): Promise<void> {
    const ours = [`port=${this.port}`, 'listen_addresses=127.0.0.1', 'max_connections=60'];
    const settings = [...ours, ...FAST, ...this.more];
    const flags = settings.flatMap((setting) => ['-c', setting]);
    this.child = spawn(join(this.programs, 'postgres'), ['-D', this.data, ...flags], {
      ...this.user,
      env: { ...process.env, ...this.clock },
      cwd: '/',
      stdio: 'ignore',
    });
    await eventually('postgres', async () => {
      const client = new pg.Client({ connectionString: this.url });
      // A connection that the starting server ends emits `error`; unhandled, that would end the test file.
      client.on('error', () => undefined);
      await client.connect();
      await client.end();
      return true;
    });
  }

  /** Crashes the server: connections break, the server writes no checkpoint, and its next start must recover. */
  async kill(): Promise<void> {
    const { child } = this;
    if (!child) return;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGQUIT');
      await ended;
    }
    this.child = undefined;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async execute(program: string, ...flags: string[]): Promise<void> {
    await promisify(execFile)(join(this.programs, program), flags, { ...this.user, cwd: '/' });
  }

  private get data(): string {
    return join(this.folder, 'data');
  }
}

/** A backend ends with its connection, perhaps after the processes were listed. */
function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The folder of the programs of the Postgres server that all tests share. */
async function programs(): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl('postgres') });
  await client.connect();
  try {
    const { rows } = await client.query<{ setting: string }>(
      "select setting from pg_config where name = 'BINDIR'",
    );
    return rows[0]?.setting ?? '';
  } finally {
    await client.end();
  }
}

/** The user for servers that refuse to run as root; undefined if the tests do not run as root. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
