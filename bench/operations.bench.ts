import { setTimeout as pause } from 'node:timers/promises';
import { migrateUp } from '#platform';
import { freePort } from '../test/harness/free-port.js';
import { rollingRestart } from '../test/harness/rolling-restart.js';
import { SimulatorProcess } from '../test/harness/simulator.js';
import { type Child, processorSeconds, report, residentMegabytes, startChild } from './harness.js';
import { type Finding, median } from './results.js';

// Measures what an operator plans with: the cold start and the memory at rest of api and worker with all vendors configured, and a rolling
// restart of all processes under load.
const STARTS = 7;
// V8 collects its garbage 8 to 15 s after a start.
const REST_MS = 30_000;
const RESTS = 3;
// The flag of `npm run start:api` and of the image.
const FLAGS = ['--max-semi-space-size=8'];
const PER_SECOND = 200;
const [APIS, WORKERS] = [2, 3];
const GOALS = { startSeconds: 1.5, megabytes: { api: 130, worker: 140 } };

const { DATABASE_URL = '', REDIS_URL = '', NATS_URL = '' } = process.env;
await migrateUp(DATABASE_URL);
const simulator = await SimulatorProcess.start();
const port = await freePort();
const env = {
  ...{ DATABASE_URL, REDIS_URL, NATS_URL },
  ...simulator.env,
  HOST: '127.0.0.1',
  PORT: String(port),
  WORKER_PORT: '0',
  // The vendors reach the api here, so that the worker gets its subscriptions.
  PUBLIC_URL: `http://127.0.0.1:${port}`,
  JWT_SECRET: 'a-secret-for-tests-of-at-least-32-characters',
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
};

const starts = { api: await coldStarts('api'), worker: await coldStarts('worker') };
const rests: Array<{ api: number; worker: number }> = [];
for (let rest = 0; rest < RESTS; rest += 1) rests.push(await atRest());
const restart = await rollingRestart({
  env: { ...env, PORT: '0' },
  apis: APIS,
  workers: WORKERS,
  perSecond: PER_SECOND,
});
await simulator.stop();

const sorted = restart.durationsMs.toSorted((one, other) => one - other);
const failed = restart.failures.length + restart.late;
await report({
  name: 'operations',
  findings: [...startFindings(), ...memoryFindings(), ...restartFindings()],
  raw: { starts, rests, restart: { ...restart, durationsMs: undefined } },
});

type Role = 'api' | 'worker';

async function coldStarts(role: Role): Promise<Array<{ seconds: number; processor: number }>> {
  const found = [];
  for (let start = 0; start < STARTS; start += 1) {
    const begunAtMs = performance.now();
    const child = await started(role);
    const seconds = (performance.now() - begunAtMs) / 1_000;
    found.push({ seconds, processor: processorSeconds(child.process.pid ?? 0) });
    await child.stop();
  }
  return found;
}

/** Starts a process and waits until its readiness answers 200. */
async function started(role: Role): Promise<Child> {
  const child = await startChild(`dist/apps/${role}/src/main.js`, env, FLAGS);
  while (!(await fetch(`${child.url}/health/ready`)).ok) await pause(5);
  return child;
}

async function atRest(): Promise<{ api: number; worker: number }> {
  const [api, worker] = await Promise.all([started('api'), started('worker')]);
  await pause(REST_MS);
  const found = {
    api: residentMegabytes(api.process.pid ?? 0),
    worker: residentMegabytes(worker.process.pid ?? 0),
  };
  await Promise.all([api.stop(), worker.stop()]);
  return found;
}

function startFindings(): Finding[] {
  return (['api', 'worker'] as const).map((role) => {
    const seconds = median(starts[role].map((one) => one.seconds));
    const processor = median(starts[role].map((one) => one.processor));
    return {
      what: `cold start of the ${role} until it is ready`,
      measured: `${seconds.toFixed(2)} s (processor ${processor.toFixed(2)} s)`,
      goal: role === 'api' ? `≤ ${GOALS.startSeconds} s` : '',
      met: role !== 'api' || seconds <= GOALS.startSeconds,
    };
  });
}

function memoryFindings(): Finding[] {
  return (['api', 'worker'] as const).map((role) => {
    const megabytes = median(rests.map((rest) => rest[role]));
    return {
      what: `RSS of the ${role} at rest, all vendors configured`,
      measured: `${megabytes.toFixed(0)} MB`,
      goal: `≤ ${GOALS.megabytes[role]} MB`,
      met: megabytes <= GOALS.megabytes[role],
    };
  });
}

function restartFindings(): Finding[] {
  const { seconds, nightsAcknowledged, nightsStored, exitCodes } = restart;
  const rate = sorted.length / seconds;
  const at = (share: number) => (sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(0);
  return [
    {
      what: `rolling restart of ${APIS} apis and ${WORKERS} workers in ${seconds.toFixed(0)} s: failed requests`,
      measured: `${failed} of ${sorted.length.toLocaleString('en')} (${rate.toFixed(0)}/s)`,
      goal: `0 at ${PER_SECOND}/s`,
      met: failed === 0 && exitCodes.every((code) => code === 0),
    },
    {
      what: 'time of an answer meanwhile: median, p99, longest',
      measured: `${at(0.5)}, ${at(0.99)}, ${at(1)} ms`,
      goal: '',
      met: true,
    },
    {
      what: 'nights acknowledged and not stored',
      measured: `${nightsAcknowledged - nightsStored} of ${nightsAcknowledged}`,
      goal: '0',
      met: nightsAcknowledged === nightsStored,
    },
  ];
}
