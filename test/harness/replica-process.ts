import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { eventually } from './eventually.js';
import { undoneOnFailure } from './undo.js';

const PROGRAM = new URL('./replica.mjs', import.meta.url).pathname;

type Line = Readonly<Record<string, unknown>>;

/** Starts `replica.mjs`, sends it commands and reads its output. */
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
    return undoneOnFailure(async (onFailure) => {
      onFailure(() => replica.kill());
      await replica.printed('ready');
      return replica;
    });
  }

  /** Sends a command and does not wait for its result. */
  send(command: string, parameters: object): void {
    this.child.stdin?.write(`${JSON.stringify({ command, ...parameters })}\n`);
  }

  /** Waits for the first line of output that has this field, and returns its value. */
  async printed<T>(field: string): Promise<T> {
    const line = await eventually(field, () => this.lines.find((one) => field in one), 30_000);
    return line[field] as T;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exit;
  }
}
