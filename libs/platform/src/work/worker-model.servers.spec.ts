import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MODEL_TIMEOUT_MS, modelRuns } from '../../../../test/harness/model-runs.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { timeScale } from '../clock/clock.js';
import { type Sql } from '../database/database.js';
import { createLogger } from '../logging/logger.js';
import { ClaimLost, FencedRows } from './fence.js';
import { type Outcome, Worker } from './worker.js';

const ROWS = ['1', '2', '3', '4'];
const WORKERS = 3;
const HOUR_MS = 3_600_000;

interface Claim {
  readonly id: string;
  readonly fence: string;
}

type Order = 'write' | 'finish' | 'postpone' | 'throw' | 'die';

/** A run under way: it does what the test orders. */
interface Attempt {
  readonly claim: Claim;
  readonly order: (order: Order) => void;
  /** Resolves when the present write is answered. */
  written: Promise<void>;
  readonly ended: Promise<Outcome | undefined>;
}

interface ModelRow {
  fence: number;
  isHeld: boolean;
  isDue: boolean;
  isFinished: boolean;
  progress: number;
}

const worker = fc.nat(WORKERS - 1);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('claim' as const), worker }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('claim at once' as const), worker }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('write' as const), worker }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('finish' as const), worker }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('postpone' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('throw' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('die' as const), worker }) },
  // The worker is frozen past its lease and does not know: it goes on with its next step.
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('freeze' as const), worker }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('renew' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('time passes' as const), worker }) },
);

describe('workers', () => {
  let open: OpenDatabase;
  let sql: Sql;
  const rows = new FencedRows('model', 'model_work', 'id');
  const logger = createLogger({ level: 'silent', process: 'test' });
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    await sql.query(`
      create table model_work (
        id text primary key,
        due_at timestamptz not null default now(),
        finished_at timestamptz,
        progress integer not null default 0,
        leased_until timestamptz,
        fence bigint not null default 0
      )`);
  });
  afterAll(() => open.close());

  const claimRow = async (leaseMs: number) =>
    (
      await sql.query<Claim>(
        `with next as (
           select id
           from model_work
           where finished_at is null
             and due_at <= now()
             and is_free(leased_until)
           order by id
           limit 1
           for update skip locked
         )
         update model_work
         set fence = fence + 1, leased_until = lease_end($1)
         from next
         where model_work.id = next.id
         returning model_work.id, model_work.fence`,
        [leaseMs],
      )
    ).rows[0];

  const write = ({ id, fence }: Claim, change: string) =>
    sql.query(`update model_work set ${change} where id = $1 and fence = $2`, [id, fence]);

  /** Claims a row with a worker whose run obeys. Undefined: nothing was due. */
  async function begin(): Promise<Attempt | undefined> {
    let begun: (attempt: Attempt) => void = () => undefined;
    const attempt = new Promise<Attempt>((resolve) => (begun = resolve));
    const obeying = new Worker<Claim, Outcome>(
      {
        name: 'model',
        lease: { ms: HOUR_MS },
        claim: claimRow,
        renew: (claim, leaseMs) => rows.renew(sql, claim.id, claim, leaseMs),
        run: async (claim) => {
          for (;;) {
            let answered: () => void = () => undefined;
            const order = await new Promise<Order>((resolve) => {
              const one = {
                claim,
                order: resolve,
                ended,
                written: new Promise<void>((done) => (answered = done)),
              };
              begun(one);
              current.set(claim, one);
            });
            // A dead worker writes nothing more; its timers end here.
            if (order === 'die') throw new ClaimLost();
            if (order === 'throw') throw new Error('a bug');
            if (order !== 'write') return { kind: order };
            rows.require(await write(claim, 'progress = progress + 1').finally(answered));
          }
        },
        failed: () => ({ kind: 'postpone' }),
        settle: async (claim, { kind }) =>
          rows.accepted(
            await write(
              claim,
              kind === 'finish'
                ? 'finished_at = now(), leased_until = null'
                : `due_at = now() + interval '1 hour', leased_until = null`,
            ),
          ),
      },
      timeScale(1),
      logger,
    );
    const ended = obeying.runOne();
    return Promise.race([attempt, ended.then(() => undefined)]);
  }
  const current = new Map<Claim, Attempt>();

  const endLeases = () =>
    sql.query(
      `update model_work
       set due_at = least(due_at, now()), leased_until = leased_until - interval '2 hours'`,
    );

  const inDatabase = async () =>
    (
      await sql.query<ModelRow>(
        `select
           fence::int as fence, progress, not is_free(leased_until) as "isHeld", due_at <= now() as "isDue",
           finished_at is not null as "isFinished"
         from model_work
         order by id`,
      )
    ).rows;

  it(
    'accept the writes of at most one claim per row, and leave no row held, for any order of claims, deaths, freezes and writes (model)',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
          await sql.query('truncate model_work');
          for (const id of ROWS) await sql.query('insert into model_work (id) values ($1)', [id]);
          const model = new Map<string, ModelRow>(
            ROWS.map((id) => [id, { fence: 0, isHeld: false, isDue: true, isFinished: false, progress: 0 }]),
          );
          const held: Array<Claim | undefined> = Array.from({ length: WORKERS });
          const claimable = () => [...model].filter(([, row]) => !row.isFinished && row.isDue && !row.isHeld);
          const claimed = (by: number, { claim }: Attempt) => {
            const row = model.get(claim.id)!;
            expect(claimable().map(([id]) => id)).toContain(claim.id);
            row.fence += 1;
            row.isHeld = true;
            expect(claim.fence).toBe(`${row.fence}`);
            held[by] = claim;
          };

          for (const { kind, worker: by } of steps) {
            const claim = held[by];
            const row = claim && model.get(claim.id)!;
            const isOurs = row?.fence === Number(claim?.fence);
            if (kind === 'claim') {
              if (claim) continue;
              const attempt = await begin();
              if (attempt) claimed(by, attempt);
              else expect(claimable()).toEqual([]);
            } else if (kind === 'claim at once') {
              const idle = held.flatMap((one, index) => (one ? [] : [index]));
              const free = claimable().length;
              const attempts = await Promise.all(idle.map(() => begin()));
              expect(attempts.filter((one) => one)).toHaveLength(Math.min(idle.length, free));
              attempts.forEach((one, index) => one && claimed(idle[index]!, one));
            } else if (kind === 'time passes') {
              await endLeases();
              for (const each of model.values()) {
                each.isDue = true;
                each.isHeld = false;
              }
            } else if (claim && row) {
              const attempt = current.get(claim)!;
              switch (kind) {
                case 'freeze':
                  await sql.query(
                    `update model_work set leased_until = now() - interval '1 second' where id = $1 and fence = $2`,
                    [claim.id, claim.fence],
                  );
                  if (isOurs) row.isHeld = false;
                  break;
                case 'renew':
                  expect(await rows.renew(sql, claim.id, claim, HOUR_MS)).toBe(isOurs);
                  if (isOurs) row.isHeld = true;
                  break;
                case 'write':
                  attempt.order('write');
                  await attempt.written;
                  if (isOurs) row.progress += 1;
                  else {
                    expect(await attempt.ended).toEqual({ kind: 'fenced' });
                    held[by] = undefined;
                  }
                  break;
                case 'die':
                  attempt.order('die');
                  await attempt.ended;
                  held[by] = undefined;
                  break;
                case 'finish':
                case 'postpone':
                case 'throw': {
                  attempt.order(kind);
                  const settled = kind === 'throw' ? 'postpone' : kind;
                  expect(await attempt.ended).toEqual({ kind: isOurs ? settled : 'fenced' });
                  held[by] = undefined;
                  if (!isOurs) break;
                  row.isHeld = false;
                  if (kind === 'finish') row.isFinished = true;
                  else row.isDue = false;
                }
              }
            }
            expect(await inDatabase()).toEqual([...model.values()]);
          }

          // Every lease ends at last, and a worker that comes then finishes each row.
          await endLeases();
          for (let attempt = await begin(); attempt; attempt = await begin()) {
            attempt.order('finish');
            expect(await attempt.ended).toEqual({ kind: 'finish' });
          }
          const { rows: left } = await sql.query(
            'select 1 from model_work where finished_at is null or leased_until is not null',
          );
          expect(left).toEqual([]);

          const before = await inDatabase();
          for (const late of held.flatMap((claim) => (claim ? [current.get(claim)!] : []))) {
            late.order('write');
            expect(await late.ended).toEqual({ kind: 'fenced' });
          }
          expect(await inDatabase()).toEqual(before);
        }),
        modelRuns(40),
      );
    },
    MODEL_TIMEOUT_MS,
  );
});
