import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { within } from './within.js';

const ENTRY = (app: string, root: string) =>
  resolve(root, app.startsWith('examples/') ? `dist/${app}/main.js` : `dist/apps/${app}/src/main.js`);

/**
 * Flags of Node for processes of a test. Most of them live for seconds, and most of their processor time is their start. V8 spends a sixth
 * of the start on optimising code that hardly runs again. With a budget 15 times the default it optimises only code that runs for longer.
 * The V8 of Node 22 has no such flag, and optimises later by itself.
 */
export const SHORT_LIVED = process.versions.node.startsWith('20.') ? ['--interrupt-budget=2000000'] : [];

// A process waits up to 60 s for its servers (START_WAIT_SECONDS) and then ends with the reason. So the test waits longer for the start.
const START_MS = 90_000;
// A line of the log follows within seconds, also on a busy machine.
const LINE_MS = 60_000;

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

  /** Starts a process and waits for its log line `ready`. If the process ends before or hangs, this throws with the process's output. */
  static async start(
    app: string,
    env: Readonly<Record<string, string | undefined>>,
    root?: string,
  ): Promise<ProductProcess> {
    const started = ProductProcess.spawn(app, env, root);
    try {
      await started.line((line) => line.msg === 'ready', START_MS);
      return started;
    } catch (cause) {
      started.signal('SIGKILL');
      throw new Error(`${app} did not start: ${started.stderr}`, { cause });
    }
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

  /** The first log line that fits, past or future. Throws with the last line if none fits before the process ends or `limitMs` have passed. */
  async line(fits: (line: LogLine) => boolean, limitMs = LINE_MS): Promise<LogLine> {
    const past = this.lines.find(fits);
    if (past) return past;
    let listener: (line: LogLine) => void = () => undefined;
    const future = new Promise<LogLine>((resolve) => {
      listener = (line) => fits(line) && resolve(line);
      this.listeners.add(listener);
    });
    const ended = this.exit.then((code) => Promise.reject(new Error(`the process ended with ${code}`)));
    try {
      return await within('a line of the log', limitMs, Promise.race([future, ended]));
    } catch (cause) {
      const last = JSON.stringify(this.lines.at(-1));
      throw new Error(`no expected line in the log, the last is ${last}`, { cause });
    } finally {
      this.listeners.delete(listener);
    }
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
