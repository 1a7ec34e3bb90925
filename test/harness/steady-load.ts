import { Agent, request } from 'node:http';
import { eventually } from './eventually.js';
import { type ProductProcess } from './process.js';

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const POLL_MS = 50;
const DEADLINE_MS = 120_000;

/**
 * A load through a balancer. It polls the replicas' readiness every 50 ms and sends a steady number of requests a second to the ready replicas, in turn,
 * over connections that stay open. On a busy machine it sends fewer.
 */
export class SteadyLoad {
  /** Each answer other than 2xx with its code, and each broken connection. Answers that came too late are counted in `late` instead. */
  readonly failures: string[] = [];
  /** Requests that the product gave up after 4.25 s, because the machine was too busy. */
  late = 0;
  /** The requests that succeeded, by their number. */
  readonly answers: Array<{ readonly n: number; readonly ms: number }> = [];
  private readonly counts = new Map<ProductProcess, number>();
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 40 });
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly inFlight = new Set<Promise<void>>();
  private readonly replicas: ProductProcess[];
  private ready: readonly ProductProcess[];
  private sent = 0;

  constructor(
    replicas: readonly ProductProcess[],
    private readonly perSecond: number,
    private readonly nth: (n: number) => SentRequest,
  ) {
    this.replicas = [...replicas];
    this.ready = replicas;
  }

  start(): void {
    this.timers.push(setInterval(() => void this.poll(), POLL_MS));
    this.timers.push(setInterval(() => this.send(this.sent++), 1_000 / this.perSecond));
  }

  add(replica: ProductProcess): void {
    this.replicas.push(replica);
  }

  answeredBy(replica: ProductProcess): number {
    return this.counts.get(replica) ?? 0;
  }

  /** Waits for so many further answers. Returns early after a failure. */
  async untilAnswered(more: number): Promise<void> {
    const wanted = this.answers.length + more;
    const isDone = () => this.answers.length >= wanted || this.failures.length > 0;
    await eventually(`${wanted} answers`, isDone, DEADLINE_MS);
  }

  async end(): Promise<void> {
    this.timers.forEach(clearInterval);
    await Promise.all(this.inFlight);
    this.agent.destroy();
  }

  private async poll(): Promise<void> {
    const states = await Promise.all(this.replicas.map((replica) => this.isReady(replica)));
    this.ready = this.replicas.filter((_, index) => states[index]);
  }

  private async isReady(replica: ProductProcess): Promise<boolean> {
    const asked = { method: 'GET', path: '/health/ready', headers: {} };
    return this.answerOf(replica, asked).then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  private send(n: number): void {
    const replica = this.ready[n % this.ready.length];
    if (!replica) return void this.failures.push('no replica is ready');
    const sent = this.nth(n);
    const sentAtMs = performance.now();
    const sending = this.answerOf(replica, sent).then(
      ({ status, text }) => {
        this.counts.set(replica, this.answeredBy(replica) + 1);
        if (status >= 200 && status < 300) this.answers.push({ n, ms: performance.now() - sentAtMs });
        else if (text.includes('"ANSWER_LATE"')) this.late += 1;
        else this.failures.push(`${sent.method} ${sent.path}: ${status} ${text}`);
      },
      (error: unknown) => void this.failures.push(`${sent.method} ${sent.path}: ${String(error)}`),
    );
    this.inFlight.add(sending);
    void sending.finally(() => this.inFlight.delete(sending));
  }

  private answerOf({ url }: ProductProcess, { method, path, headers, body }: SentRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      request(`${url}${path}`, { agent: this.agent, method, headers: { ...headers } }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => (text += part));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text })).on('error', reject);
      })
        .on('error', reject)
        .end(body);
    });
  }
}
