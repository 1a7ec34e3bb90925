import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { tokenFor } from '../test/harness/environment.js';
import { type Child, processorSeconds, residentMegabytes, startChild } from './harness.js';
import { type Finding } from './results.js';
import { type ChangeLog } from './push-log.js';

// An athlete has five places for streams.
const OF_ATHLETE = 5;
const ATHLETES = 1_000;
const STREAMS = ATHLETES * OF_ATHLETE;
// The first streams make the process load and compile what all streams share.
const WARM_UP_ATHLETES = 50;
const OPENING = 50;
// V8 returns memory 8 to 15 s after a start or a burst, also after a forced collection. A stream sends a heartbeat every 15 s.
const IDLE_MS = 25_000;
const COLLECTED_MS = 2_000;
const MOST_RATIO = 2;
const FLAGS = [
  '--max-semi-space-size=8',
  '--expose-gc',
  '--import',
  new URL('./collects-garbage.js', import.meta.url).href,
];

interface Cost {
  /** RSS per stream. */
  readonly kilobytes: number;
  /** RSS of the process, with the first streams and with all. */
  readonly megabytes: readonly number[];
  /** Processor time per second of all streams together. */
  readonly idleMsPerSecond: number;
}

/** RSS of open streams that have nothing to send: of the api, and of a bare Node server with as many. */
export async function measureIdle(log: ChangeLog): Promise<{ findings: Finding[]; raw: unknown }> {
  const [bare, api] = await Promise.all([
    costOf(await startChild('dist/bench/bare-events.js', {}, FLAGS)),
    costOf(await startChild('dist/apps/api/src/main.js', log.env, FLAGS)),
  ]);
  const ratio = api.kilobytes / bare.kilobytes;
  const kilobytes = ({ kilobytes }: Cost) => `${kilobytes.toFixed(1)} kB`;
  const processor = ({ idleMsPerSecond }: Cost) => `${idleMsPerSecond.toFixed(0)} ms/s`;
  return {
    findings: [
      {
        what: `RSS of an idle event stream, ${STREAMS.toLocaleString('en')} open`,
        measured: `${kilobytes(api)} (bare ${kilobytes(bare)}, ${ratio.toFixed(2)}×)`,
        goal: `≤ ${MOST_RATIO}×`,
        met: ratio <= MOST_RATIO,
      },
      {
        what: 'processor time of all these streams',
        measured: `${processor(api)} (bare ${processor(bare)})`,
        goal: '',
        met: true,
      },
    ],
    raw: { streams: STREAMS, api, bare },
  };
}

async function costOf(server: Child): Promise<Cost> {
  const warmUp = await openStreams(server.url, 0, WARM_UP_ATHLETES);
  const before = await idle(server);
  const streams = await openStreams(server.url, WARM_UP_ATHLETES, ATHLETES);
  const after = await idle(server);
  const isOpen = (stream: IncomingMessage) => !stream.readableEnded && !stream.destroyed;
  if (![...warmUp, ...streams].every(isOpen)) throw new Error('a stream ended while it was idle');
  for (const stream of [...warmUp, ...streams]) stream.destroy();
  await server.stop();
  return {
    kilobytes: ((after.megabytes - before.megabytes) * 1_024) / streams.length,
    megabytes: [before.megabytes, after.megabytes],
    idleMsPerSecond: after.msPerSecond,
  };
}

/** Waits while the server has nothing to do. Returns its processor time meanwhile, and then its RSS without garbage. */
async function idle({ process: child }: Child): Promise<{ msPerSecond: number; megabytes: number }> {
  const pid = child.pid ?? 0;
  const used = processorSeconds(pid);
  await pause(IDLE_MS);
  const msPerSecond = ((processorSeconds(pid) - used) * 1e6) / IDLE_MS;
  child.kill('SIGUSR2');
  await pause(COLLECTED_MS);
  return { msPerSecond, megabytes: residentMegabytes(pid) };
}

/** Opens five streams of each athlete from `first` on, 50 requests at a time. */
async function openStreams(url: string, first: number, end: number): Promise<IncomingMessage[]> {
  const streams: IncomingMessage[] = [];
  let next = first * OF_ATHLETE;
  const opener = async () => {
    for (let n = next++; n < end * OF_ATHLETE; n = next++)
      streams.push(await openStream(url, `athlete-${Math.floor(n / OF_ATHLETE)}`));
  };
  await Promise.all(Array.from({ length: OPENING }, opener));
  return streams;
}

async function openStream(url: string, athlete: string): Promise<IncomingMessage> {
  const authorization = `Bearer ${await tokenFor(athlete)}`;
  const request = get(`${url}/v1/events`, { agent: false, headers: { authorization } });
  const [stream] = (await once(request, 'response')) as [IncomingMessage];
  if (stream.statusCode !== 200) throw new Error(`GET /v1/events: ${stream.statusCode}`);
  // The end of the connection in `destroy` is no error of the measurement.
  stream.on('error', () => undefined);
  // The first event comes at once.
  await once(stream, 'data');
  return stream;
}
