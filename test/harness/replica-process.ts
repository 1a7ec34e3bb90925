import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { eventually } from './eventually.js';

const PROGRAM = new URL('./replica.mjs', import.meta.url).pathname;

type Line = Readonly<Record<string, unknown>>;

/** `replica.mjs`, from outside. */
export class ReplicaProcess {
  readonly lines: Line[] = [];
  private readonly exit: Promise<unknown>;

  private constructor(private readonly child: ChildProcess) {
    this.exit = once(child, 'exit');
    if (child.stdout)
      createInterface(child.stdout).on('line', (text) => this.lines.push(JSON.parse(text) as Line));
  }

  static async start(url: string, keyPrefix: string): Promise<ReplicaProcess> {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ url, keyPrefix })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const replica = new ReplicaProcess(child);
    await replica.told('ready');
    return replica;
  }

  /** Does not wait for what comes of it. */
  order(command: string, parameters: object): void {
    this.child.stdin?.write(`${JSON.stringify({ command, ...parameters })}\n`);
  }

  /** What the first line says that says something of it. */
  async told<T>(what: string): Promise<T> {
    const line = await eventually(what, () => this.lines.find((one) => what in one), 30_000);
    return line[what] as T;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exit;
  }
}
