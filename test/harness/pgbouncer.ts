import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';

const PROGRAM = process.env.PGBOUNCER_PATH;

/** `npm test` installs PgBouncer if it can. Without PgBouncer the tests that need it are skipped. */
export const hasPgBouncer = PROGRAM !== undefined;

/** A PgBouncer in transaction mode in front of a database. */
export class PgBouncer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  /** `settings` has further lines of PgBouncer's configuration. */
  static async before(databaseUrl: string, ...settings: string[]): Promise<PgBouncer> {
    const target = new URL(databaseUrl);
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
    chmodSync(folder, 0o755);
    const login = [`user=${target.username}`, target.password && `password=${target.password}`].filter(
      Boolean,
    );
    writeFileSync(
      join(folder, 'pgbouncer.ini'),
      [
        '[databases]',
        `* = host=${target.hostname} port=${target.port} ${login.join(' ')}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'auth_type = any',
        'pool_mode = transaction',
        ...settings,
        '',
      ].join('\n'),
    );
    // Like Postgres, PgBouncer refuses to run as root.
    const as = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
    const child = spawn(PROGRAM ?? '', [join(folder, 'pgbouncer.ini')], { ...as, stdio: 'ignore', cwd: '/' });
    await eventually('pgbouncer', () => listens(port));
    target.port = String(port);
    return new PgBouncer(child, folder, target.toString());
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
    rmSync(this.folder, { recursive: true });
  }
}

const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } finally {
    socket.destroy();
  }
}
