import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

const ENTRY = (app: string, root: string) =>
  resolve(root, app.startsWith('examples/') ? `dist/${app}/main.js` : `dist/apps/${app}/src/main.js`);

/**
 * Flags of Node for processes of a test. Most of them live for seconds, and most of their processor time is their start. V8 spends a sixth
 * of the start on optimising code that hardly runs again. With a budget 15 times the default it optimises only code that runs for longer.
 * The V8 of Node 22 has no such flag, and optimises later by itself.
 */
export const SHORT_LIVED = process.versions.node.startsWith('20.') ? ['--interrupt-budget=2000000'] : [];

interface LogLine {
  readonly msg: string;
  readonly urls?: readonly string[];
  readonly [field: string]: unknown;
}

/** A process of the product as in production: the built program, configured by its environment only. */
export class ProductProcess {
  readonly lines: LogLine[] = [];
  stderr = '';
  private readonly listeners = new Set<(line: LogLine) => void>();
  private readonly exit: Promise<number | null>;

  private constructor(private readonly child: ChildProcess) {
    this.exit = once(child, 'close').then(([code]) => code as number | null);
    if (child.stdout) createInterface(child.stdout).on('line', (text) => this.read(text));
    child.stderr?.on('data', (bytes: Buffer) => (this.stderr += bytes.toString()));
  }

  /** `root`: the folder of the checkout that was built. */
  static spawn(app: string, env: Readonly<Record<string, string | undefined>>, root = '.'): ProductProcess {
    const inherited = { PATH: process.env.PATH, NODE_ENV: 'test' };
    const child = spawn(process.execPath, [...SHORT_LIVED, ENTRY(app, root)], {
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new ProductProcess(child);
  }

  /** Starts a process and waits for its log line `ready`. If the process ends before, this throws with the process's stderr. */
  static async start(
    app: string,
    env: Readonly<Record<string, string | undefined>>,
    root?: string,
  ): Promise<ProductProcess> {
    const started = ProductProcess.spawn(app, env, root);
    await Promise.race([
      started.line((line) => line.msg === 'ready'),
      started.exit.then((code) => Promise.reject(new Error(`${app} ended with ${code}: ${started.stderr}`))),
    ]);
    return started;
  }

  get urls(): readonly string[] {
    return this.lines.find((line) => line.msg === 'ready')?.urls ?? [];
  }

  get url(): string {
    const [first] = this.urls;
    if (!first) throw new Error('The process is not ready');
    return first;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** The first log line that fits, past or future. The wait has no limit; the time-out of the test ends it. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine> {
    const past = this.lines.find(fits);
    if (past) return Promise.resolve(past);
    return new Promise((resolve) => {
      const listener = (line: LogLine) => {
        if (!fits(line)) return;
        this.listeners.delete(listener);
        resolve(line);
      };
      this.listeners.add(listener);
    });
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  exited(): Promise<number | null> {
    return this.exit;
  }

  async stop(): Promise<number | null> {
    this.signal('SIGTERM');
    return this.exit;
  }

  private read(text: string): void {
    const line = JSON.parse(text) as LogLine;
    this.lines.push(line);
    for (const listener of this.listeners) listener(line);
  }
}
