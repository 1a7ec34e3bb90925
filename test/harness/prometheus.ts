import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';

const PROGRAM = process.env.PROMETHEUS_PATH;

/** `npm test` installs Prometheus if it can. Without Prometheus the tests that need it are skipped. */
export const hasPrometheus = PROGRAM !== undefined;

const FOLDER = resolve('deploy/prometheus');

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** A real Prometheus with the configuration and the rules of `deploy/prometheus`, except that it scrapes every second. */
export class Prometheus {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  /** `targets`: by the names of the configuration (`api:3000`), the addresses to scrape instead. */
  static async start(targets: Readonly<Record<string, string>>): Promise<Prometheus> {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
    let text = readFileSync(join(FOLDER, 'prometheus.yml'), 'utf8')
      .replaceAll('15s', '1s')
      .replace('rules/*.yml', join(FOLDER, 'rules/*.yml'));
    for (const [name, address] of Object.entries(targets)) {
      if (!text.includes(`'${name}'`)) throw new Error(`prometheus.yml has no target ${name}`);
      text = text.replace(`'${name}'`, `'${address}'`);
    }
    writeFileSync(join(folder, 'prometheus.yml'), text);
    const child = spawn(
      PROGRAM ?? '',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    const started = new Prometheus(child, folder, `http://127.0.0.1:${port}`);
    await eventually('prometheus', async () => (await fetch(`${started.url}/-/ready`)).ok);
    return started;
  }

  /** The result of a query now. Throws if the query is wrong. */
  async query(expr: string): Promise<readonly Sample[]> {
    const body = new URLSearchParams({ query: expr });
    const answer = await fetch(`${this.url}/api/v1/query`, { method: 'POST', body });
    const { status, error, data } = (await answer.json()) as {
      readonly status: string;
      readonly error?: string;
      readonly data?: { readonly result: readonly Sample[] };
    };
    if (status !== 'success' || !data) throw new Error(`${expr}: ${error}`);
    return data.result;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
    rmSync(this.folder, { recursive: true });
  }
}

/** Runs promtool in `deploy/prometheus`. Returns its output; throws with it if promtool finds a problem. */
export function promtool(args: readonly string[], input = ''): Promise<string> {
  const program = join(dirname(PROGRAM ?? ''), 'promtool');
  return new Promise((done, fail) => {
    const child = execFile(program, [...args], { cwd: FOLDER }, (error, stdout, stderr) =>
      error ? fail(new Error(`promtool ${args.join(' ')}\n${stdout}${stderr}`)) : done(stdout + stderr),
    );
    child.stdin?.end(input);
  });
}
