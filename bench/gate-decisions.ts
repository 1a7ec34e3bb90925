import { type RedisClient } from '#platform';
import { randomUUID } from 'node:crypto';
import { SessionGate } from '#reliability';
import { type Finding, median } from './results.js';
import { type Measured, measure } from './in-flight.js';

// Compares one decision of the gate with the cheapest commands on the same connection: an empty script and a plain ZADD. Each command
// is measured twice: sent one by one, and pipelined by turn of the event loop, as the gate sends its requests. All contenders run in
// turn on one Redis.
const ROUNDS = 5;
const DECISIONS = 30_000;
const SESSIONS = 5_000;
// Each address has 20 sessions, so none reaches the quarter of the places that one address may have.
const ADDRESSES = 250;

type Contender =
  'gate' | 'gate, full' | 'empty script' | 'zadd' | 'empty script, pipelined' | 'zadd, pipelined';

export async function measureDecisions(
  redis: RedisClient,
  pipelined: RedisClient,
): Promise<{ readonly findings: Finding[]; readonly raw: unknown }> {
  const contenders = await contendersOn(redis, pipelined);
  const rounds: Array<Record<string, Record<Contender, Measured>>> = [];
  for (const ask of Object.values(contenders)) await measure(ask, { questions: DECISIONS, inFlight: 64 });
  for (let round = 0; round < ROUNDS; round += 1) {
    const measured: Record<string, Record<Contender, Measured>> = {};
    for (const inFlight of [1, 64]) {
      const one: Partial<Record<Contender, Measured>> = {};
      for (const [name, ask] of Object.entries(contenders))
        one[name as Contender] = await measure(ask, { questions: DECISIONS, inFlight });
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
  redis: RedisClient,
  pipelined: RedisClient,
): Promise<Record<Contender, () => Promise<unknown>>> {
  const names = Array.from({ length: SESSIONS }, () => randomUUID());
  let turn = 0;
  const next = () => names[(turn += 1) % SESSIONS] ?? '';
  const ask = (gate: SessionGate, pool: string) => {
    const session = next();
    return gate.admit(pool, session, { address: `192.0.2.${turn % ADDRESSES}` });
  };
  const silence = { idleMs: 60_000, graceMs: 30_000 };
  const gate = new SessionGate(redis, { capacity: SESSIONS, perAddress: SESSIONS / 4, ...silence });
  const small = new SessionGate(redis, { capacity: 100, perAddress: 25, ...silence });
  const empty = (await redis.script('LOAD', 'return 0')) as string;
  return {
    gate: () => ask(gate, 'bench'),
    'gate, full': () => ask(small, 'small'),
    'empty script': () => redis.evalsha(empty, 1, 'bench:empty'),
    zadd: () => redis.zadd('bench:zadd', turn, next()),
    'empty script, pipelined': () => pipelined.evalsha(empty, 1, 'bench:empty'),
    'zadd, pipelined': () => pipelined.zadd('bench:zadd', turn, next()),
  };
}

const per = (rate: number) => `${Math.round(rate).toLocaleString('en')}/s`;
const ms = (value: number) => `${value.toFixed(3)} ms`;
