/**
 * Shows whether the simulator can be the bottleneck of other benchmarks. Starts the compiled simulator as a process and fills it
 * with 50,000 activities. Then requests streams, details and full list pages over loopback, as fast as the simulator answers.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { report, residentMegabytes } from './harness.js';
import { type Finding } from './results.js';

const ATHLETES = 5;
const ACTIVITIES_EACH = 10_000;
const PAGES_EACH = ACTIVITIES_EACH / 200;
const SECONDS_EACH = Number(process.env['BENCH_SECONDS'] ?? 5);
const CONNECTIONS = 8;
const ALL_KEYS =
  'time,distance,latlng,altitude,velocity_smooth,heartrate,cadence,watts,temp,moving,grade_smooth';

interface Athlete {
  token: string;
  activityIds: string[];
}

const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });

async function main(): Promise<void> {
  const { child, base } = await startSimulator();
  try {
    const { findings, raw } = await measure(base, child.pid!);
    await report({ name: 'simulator', findings, raw });
  } finally {
    child.kill('SIGTERM');
    agent.destroy();
  }
}

async function measure(base: string, pid: number): Promise<{ findings: Finding[]; raw: unknown }> {
  await call(base, 'POST', '/__sim/limits', {
    vendor: 'strava',
    read_15min: 1e9,
    read_day: 1e9,
    overall_15min: 1e9,
    overall_day: 1e9,
  });
  const creationsMs: number[] = [];
  const athletes: Athlete[] = [];
  for (let seed = 1; seed <= ATHLETES; seed++) {
    const started = performance.now();
    const code = await createAthlete(base, seed);
    creationsMs.push(performance.now() - started);
    athletes.push(await connect(base, code));
  }
  const filledMegabytes = residentMegabytes(pid);

  const streams = await load(base, pid, (n) => {
    const { token, activityIds } = pick(athletes, n);
    return {
      token,
      path: `/api/v3/activities/${pick(activityIds, n)}/streams?keys=${ALL_KEYS}&key_by_type=true`,
    };
  });
  const details = await load(base, pid, (n) => {
    const { token, activityIds } = pick(athletes, n);
    return { token, path: `/api/v3/activities/${pick(activityIds, n)}` };
  });
  const pages = await load(base, pid, (n) => {
    const page = 1 + (Math.floor(n / ATHLETES) % PAGES_EACH);
    return {
      token: athletes[n % ATHLETES]!.token,
      path: `/api/v3/athlete/activities?per_page=200&page=${page}`,
    };
  });

  const loadedMegabytes = residentMegabytes(pid);
  const slowestSeconds = Math.max(...creationsMs) / 1000;
  const findings = [
    below('an athlete with 10,000 activities, slowest', slowestSeconds, 2, 's'),
    below('RSS with 50,000 activities', filledMegabytes, 200, 'MB'),
    rate('streams', streams, 100),
    rate('details', details, 3000),
    rate('list pages of 200', pages, 300),
    below('RSS after the load', loadedMegabytes, 200, 'MB'),
  ];
  return { findings, raw: { creationsMs, filledMegabytes, streams, details, pages, loadedMegabytes } };
}

function below(what: string, value: number, most: number, unit: string): Finding {
  return { what, measured: `${value.toFixed(1)} ${unit}`, goal: `< ${most} ${unit}`, met: value < most };
}

function rate(what: string, { perSecond, p50Ms, p99Ms, serverCpuMs, meanKb }: Load, least: number): Finding {
  const costs = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, server CPU ${serverCpuMs.toFixed(2)} ms`;
  return {
    what,
    measured: `${Math.round(perSecond).toLocaleString('en')}/s (${costs}, ${meanKb.toFixed(0)} kB)`,
    goal: `≥ ${least.toLocaleString('en')}/s`,
    met: perSecond >= least,
  };
}

type Load = { perSecond: number; p50Ms: number; p99Ms: number; meanKb: number; serverCpuMs: number };

/** Makes requests on all connections for `SECONDS_EACH` seconds; the first half second is the warm-up. */
async function load(
  base: string,
  pid: number,
  target: (n: number) => { token: string; path: string },
): Promise<Load> {
  const latenciesMs: number[] = [];
  let bytes = 0;
  let next = 0;
  const cpuBeforeMs = cpuMs(pid);
  const warmAt = performance.now() + 500;
  const endAt = warmAt + SECONDS_EACH * 1000;
  const worker = async () => {
    while (performance.now() < endAt) {
      const { token, path } = target(next++);
      const started = performance.now();
      const size = await download(base + path, token);
      if (started < warmAt) continue;
      latenciesMs.push(performance.now() - started);
      bytes += size;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number) => latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0;
  return {
    perSecond: latenciesMs.length / SECONDS_EACH,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    meanKb: bytes / latenciesMs.length / 1024,
    serverCpuMs: (cpuMs(pid) - cpuBeforeMs) / next,
  };
}

/** Counts and discards the bytes. A 404 counts as an answer, because manual activities have no streams. */
function download(url: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => (bytes += chunk.length));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(bytes);
        else reject(new Error(`${response.statusCode} ${url}`));
      });
    });
    request.on('error', reject);
  });
}

async function createAthlete(base: string, seed: number): Promise<string> {
  const order = { provider: 'strava', activities: ACTIVITIES_EACH, manual_share: 0, seed };
  const { code } = await call<{ code: string }>(base, 'POST', '/__sim/athletes', order);
  return code;
}

async function connect(base: string, code: string): Promise<Athlete> {
  const fields = { client_id: '1', client_secret: 's', grant_type: 'authorization_code', code };
  const { access_token: token } = await call<{ access_token: string }>(base, 'POST', '/oauth/token', fields);
  const activityIds: string[] = [];
  for (let page = 1; page <= 10; page++) {
    const path = `/api/v3/athlete/activities?per_page=200&page=${page}&access_token=${token}`;
    const listed = await call<{ id: number }[]>(base, 'GET', path);
    activityIds.push(...listed.map(({ id }) => String(id)));
  }
  return { token, activityIds };
}

async function call<Result>(base: string, method: string, path: string, body?: unknown): Promise<Result> {
  const response = await fetch(base + path, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Result;
}

/** The simulator prints its URL as plain text, not as a JSON log line. */
async function startSimulator(): Promise<{ child: ChildProcess; base: string }> {
  const entry = fileURLToPath(new URL('../apps/simulator/src/main.js', import.meta.url));
  const env = { ...process.env, SIMULATOR_PORT: '0' };
  const child = spawn(process.execPath, [entry], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, base: line.toString().trim().replace('simulator ', '') };
}

/** The processor time of the server. Other programs do not change this time. It is exact to 10 ms, a tick of Linux's /proc. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Walks the list in large steps, so that a small cache does not help. */
function pick<Item>(items: readonly Item[], n: number): Item {
  return items[(n * 7919) % items.length]!;
}

await main();
