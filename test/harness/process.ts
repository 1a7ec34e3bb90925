import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

const ENTRY = (app: string) =>
  resolve(app.startsWith('examples/') ? `dist/${app}/main.js` : `dist/apps/${app}/src/main.js`);

interface LogLine {
  readonly msg: string;
  readonly urls?: readonly string[];
  readonly [field: string]: unknown;
}

/** A process of the product, as production runs it: the built program, configured by the environment alone. */
export class ProductProcess {
  readonly lines: LogLine[] = [];
  stderr = '';
  private readonly waiting = new Set<(line: LogLine) => void>();
  private readonly exit: Promise<number | null>;

  private constructor(private readonly child: ChildProcess) {
    this.exit = once(child, 'close').then(([code]) => code as number | null);
    if (child.stdout) createInterface(child.stdout).on('line', (text) => this.read(text));
    child.stderr?.on('data', (bytes: Buffer) => (this.stderr += bytes.toString()));
  }

  static spawn(app: string, env: Readonly<Record<string, string | undefined>>): ProductProcess {
    const inherited = { PATH: process.env.PATH, NODE_ENV: 'test' };
    const child = spawn(process.execPath, [ENTRY(app)], {
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new ProductProcess(child);
  }

  /** Starts it and waits until it says that it is ready. */
  static async start(
    app: string,
    env: Readonly<Record<string, string | undefined>>,
  ): Promise<ProductProcess> {
    const started = ProductProcess.spawn(app, env);
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

  /** The first log line, past or to come, that fits. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine> {
    const past = this.lines.find(fits);
    if (past) return Promise.resolve(past);
    return new Promise((resolve) => {
      const look = (line: LogLine) => {
        if (!fits(line)) return;
        this.waiting.delete(look);
        resolve(line);
      };
      this.waiting.add(look);
    });
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
    for (const look of this.waiting) look(line);
  }
}
