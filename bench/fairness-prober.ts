import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

/** The requests of an uninvolved athlete. They are sent by a separate thread, because the thread that makes the load would delay them. */
export interface Probe {
  readonly url: string;
  readonly path: string;
  /** The tokens are used in turn, because each athlete may make only 600 requests a minute. */
  readonly tokens: readonly string[];
  readonly perSecond: number;
  readonly seconds: number;
}

export interface Probed {
  readonly milliseconds: readonly number[];
  /** The statuses of the answers that were not 200. A request without an answer counts as 0. */
  readonly others: readonly number[];
}

// The connections are opened before the measurement, as a load balancer does. Node accepts only one new connection per turn of the
// event loop.
const CONNECTIONS = 20;

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const probe = workerData as Probe;
await Promise.all(Array.from({ length: CONNECTIONS }, () => ask(probe.tokens[0] ?? '')));
parentPort?.postMessage(await measure(probe));
agent.destroy();

/** Sends requests at fixed times without waiting for answers. So a server that stalls still gets as many requests. */
async function measure({ perSecond, seconds, tokens }: Probe): Promise<Probed> {
  const milliseconds: number[] = [];
  const others: number[] = [];
  const asked: Promise<void>[] = [];
  for (let count = 0; count < perSecond * seconds; count += 1) {
    const token = tokens[count % tokens.length] ?? '';
    asked.push(
      ask(token).then(({ status, tookMs }) => {
        milliseconds.push(Math.round(tookMs * 100) / 100);
        if (status !== 200) others.push(status);
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 1_000 / perSecond));
  }
  await Promise.all(asked);
  return { milliseconds, others };
}

function ask(token: string): Promise<{ status: number; tookMs: number }> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const end = (status: number) => resolve({ status, tookMs: performance.now() - startedAt });
    const headers = { authorization: `Bearer ${token}` };
    request(`${probe.url}${probe.path}`, { agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => end(answer.statusCode ?? 0)).on('error', () => end(0));
    })
      .on('error', () => end(0))
      .end();
  });
}
