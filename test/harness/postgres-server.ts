import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrateUp } from '#platform';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { serverUrl } from './servers.js';

// What is committed has to survive `kill`, so synchronous_commit stays; the machine itself does not crash.
const FAST = ['fsync=off', 'full_page_writes=off', 'unix_socket_directories='];

/** A server of one test file's own, with our schema: it may be killed and started again while others use theirs. */
export class PostgresServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly programs: string,
    private readonly folder: string,
    private readonly port: number,
    private readonly as: { readonly uid: number; readonly gid: number } | undefined,
  ) {}

  static async start(): Promise<PostgresServer> {
    const as = serverUser();
    const folder = mkdtempSync(join(tmpdir(), 'pacekeeper-postgres-'));
    if (as) chownSync(folder, as.uid, as.gid);
    const server = new PostgresServer(await programs(), folder, await freePort(), as);
    const options = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
    execFileSync(join(server.programs, 'initdb'), ['-D', server.data, ...options], {
      ...as,
      cwd: '/',
      stdio: 'ignore',
    });
    await server.start();
    await migrateUp(server.url);
    return server;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Again after `kill`, with what it had, on the same port. */
  async start(): Promise<void> {
    const settings = [`port=${this.port}`, 'listen_addresses=127.0.0.1', 'max_connections=60', ...FAST];
    const flags = settings.flatMap((setting) => ['-c', setting]);
    this.child = spawn(join(this.programs, 'postgres'), ['-D', this.data, ...flags], {
      ...this.as,
      cwd: '/',
      stdio: 'ignore',
    });
    await eventually('postgres', async () => {
      const client = new pg.Client({ connectionString: this.url });
      // One that is ended while it starts up says so here as well.
      client.on('error', () => undefined);
      await client.connect();
      await client.end();
      return true;
    });
  }

  /** As a crash: what is open breaks off, nothing is written out, and the next start has to recover. */
  async kill(): Promise<void> {
    if (!this.child) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGQUIT');
    await ended;
    this.child = undefined;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get data(): string {
    return join(this.folder, 'data');
  }
}

/** Where the server that all tests share came from. */
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

/** Postgres refuses to run as root. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
