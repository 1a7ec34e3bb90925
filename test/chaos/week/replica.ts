import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ProductProcess } from '../../harness/process.js';

const RESTART_MS = 250;
const KEPT_STDERR = 600;
// A folder for the logs of all processes of a run.
const LOGS = process.env.CHAOS_LOGS;

/** An api or a worker under a supervisor, which starts it again whenever it ends. */
export class Replica {
  kills = 0;
  /** How it ended without being killed. */
  readonly endings: string[] = [];
  private current: ProductProcess | undefined;
  private isStopping = false;
  private wasKilled = false;
  private running: Promise<void> = Promise.resolve();
  private starts = 0;

  constructor(
    readonly name: string,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  get kind(): string {
    return this.name.split(' ')[0] ?? '';
  }

  /** Resolves once the process is ready for the first time. */
  async start(): Promise<void> {
    this.running = this.supervise();
    await this.current?.line(({ msg }) => msg === 'ready');
  }

  kill(): void {
    if (!this.current || this.current.hasEnded) return;
    this.kills += 1;
    this.wasKilled = true;
    this.current.signal('SIGKILL');
  }

  freeze(): void {
    this.current?.signal('SIGSTOP');
  }

  thaw(): void {
    this.current?.signal('SIGCONT');
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.thaw();
    await this.current?.stop();
    await this.running;
  }

  private async supervise(): Promise<void> {
    while (!this.isStopping) {
      this.wasKilled = false;
      const spawned = ProductProcess.spawn(this.kind, this.env);
      this.current = spawned;
      const code = await spawned.exited();
      this.keepLog(spawned);
      if (this.isStopping || this.wasKilled) continue;
      this.endings.push(`${this.name} ended with ${code}: ${spawned.stderr.slice(0, KEPT_STDERR)}`);
      await pause(RESTART_MS);
    }
  }

  private keepLog({ lines, stderr }: ProductProcess): void {
    this.starts += 1;
    if (!LOGS) return;
    mkdirSync(LOGS, { recursive: true });
    const text = [...lines.map((line) => JSON.stringify(line)), stderr].join('\n');
    writeFileSync(join(LOGS, `${this.name.replace(' ', '-')}-${this.starts}.log`), text);
  }
}
