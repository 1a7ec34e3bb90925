import { randomUUID } from 'node:crypto';
import { type Redis } from 'ioredis';
import { SessionGate } from '#reliability';
import { type Finding, median } from './harness.js';

// One decision of the gate beside what the same connection can do at all: a script that does nothing, and a plain ZADD, once a
// command each and once with the commands of one turn together, as the gate puts its questions. All on the same Redis, in turn.
const ROUNDS = 5;
const DECISIONS = 30_000;
const SESSIONS = 5_000;

interface Measured {
  readonly perSecond: number;
  readonly p99Ms: number;
}

type Contender =
  'gate' | 'gate, full' | 'empty script' | 'zadd' | 'empty script, pipelined' | 'zadd, pipelined';

export async function measureDecisions(
  redis: Redis,
  pipelined: Redis,
): Promise<{ readonly findings: Finding[]; readonly raw: unknown }> {
  const contenders = await contendersOn(redis, pipelined);
  const rounds: Array<Record<string, Record<Contender, Measured>>> = [];
  for (const ask of Object.values(contenders)) await measure(ask, 64);
  for (let round = 0; round < ROUNDS; round += 1) {
    const measured: Record<string, Record<Contender, Measured>> = {};
    for (const inFlight of [1, 64]) {
      const one: Partial<Record<Contender, Measured>> = {};
      for (const [name, ask] of Object.entries(contenders))
        one[name as Contender] = await measure(ask, inFlight);
      measured[inFlight] = one as Record<Contender, Measured>;
    }
    rounds.push(measured);
  }
  const of = (inFlight: number, name: Contender, what: keyof Measured) =>
    median(rounds.map((round) => round[inFlight]?.[name][what] ?? 0));
  const rate = (name: Contender) => of(64, name, 'perSecond');
  const p99 = (name: Contender) => of(1, name, 'p99Ms');
  const ceilings = (['empty script', 'zadd', 'empty script, pipelined', 'zadd, pipelined'] as const)
    .map((name) => `${name} ${per(rate(name))}`)
    .join(', ');
  const latencies = `empty script ${ms(p99('empty script'))}, zadd ${ms(p99('zadd'))}`;
  return {
    findings: [
      {
        what: 'decisions, 64 in flight',
        measured: `${per(rate('gate'))} (${ceilings})`,
        goal: '≥ 50,000/s',
        met: rate('gate') >= 50_000,
      },
      {
        what: 'decisions, 64 in flight, all places taken',
        measured: per(rate('gate, full')),
        goal: '≥ 50,000/s',
        met: rate('gate, full') >= 50_000,
      },
      {
        what: 'p99 of a decision, 1 in flight',
        measured: `${ms(p99('gate'))} (${latencies})`,
        goal: '< 0.5 ms',
        met: p99('gate') < 0.5,
      },
    ],
    raw: rounds,
  };
}

async function contendersOn(
  redis: Redis,
  pipelined: Redis,
): Promise<Record<Contender, () => Promise<unknown>>> {
  const names = Array.from({ length: SESSIONS }, () => randomUUID());
  let turn = 0;
  const next = () => names[(turn += 1) % SESSIONS] ?? '';
  const gate = new SessionGate(redis, { capacity: SESSIONS, idleMs: 60_000, graceMs: 30_000 });
  const small = new SessionGate(redis, { capacity: 100, idleMs: 60_000, graceMs: 30_000 });
  const empty = (await redis.script('LOAD', 'return 0')) as string;
  return {
    gate: () => gate.admit('bench', next()),
    'gate, full': () => small.admit('small', next()),
    'empty script': () => redis.evalsha(empty, 1, 'bench:empty'),
    zadd: () => redis.zadd('bench:zadd', turn, next()),
    'empty script, pipelined': () => pipelined.evalsha(empty, 1, 'bench:empty'),
    'zadd, pipelined': () => pipelined.zadd('bench:zadd', turn, next()),
  };
}

async function measure(ask: () => Promise<unknown>, inFlight: number): Promise<Measured> {
  const took: number[] = [];
  const startedAt = performance.now();
  const asker = async () => {
    while (took.length < DECISIONS) {
      const askedAt = performance.now();
      await ask();
      took.push(performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, asker));
  const seconds = (performance.now() - startedAt) / 1_000;
  took.sort((a, b) => a - b);
  return { perSecond: took.length / seconds, p99Ms: took[Math.floor(took.length * 0.99)] ?? 0 };
}

const per = (rate: number) => `${Math.round(rate).toLocaleString('en')}/s`;
const ms = (value: number) => `${value.toFixed(3)} ms`;
