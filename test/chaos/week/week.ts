import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Pool } from 'pg';
import { eventually } from '../../harness/eventually.js';
import { queryPool } from '../../harness/query-pool.js';
import { openLedger } from '../ledger.js';
import { Random } from '../random.js';
import { type Progress } from '../stalls.js';
import { Account, PROVIDERS, vendorsOf } from './accounts.js';
import { type Engines } from './engines.js';
import { type FaultRecord, type Trouble } from './fault-log.js';
import { Followers } from './followers.js';
import { Life } from './life.js';
import { Operators } from './operators.js';
import { isWrong, type Line, Oracle } from './oracle.js';
import { PulseNights } from './pulse-nights.js';
import { Stack } from './stack.js';

const LOOK_EVERY_MS = 2_000;
const CONNECTED_AT_ONCE = 4;
const REPORT_EVERY = 30;
const LOOKS_BEFORE_REPAIR = 30;

export interface WeekOptions {
  readonly seed: number;
  readonly athletes: number;
  /** The number of activities that each athlete has from before the week. */
  readonly activities?: number;
  readonly days: number;
  readonly dayMs: number;
  readonly workers?: number;
  readonly deletedAthletes: number;
  /** After the last kill, all that the vendors have arrives within this time, or it counts as lost. */
  readonly settlesWithinMs: number;
}

export interface WeekResult {
  readonly lines: readonly Line[];
  readonly faults: Readonly<Record<string, FaultRecord>>;
  readonly calls: ReadonlyArray<{
    readonly vendor: string;
    readonly calls: number;
    readonly over_limit: number;
    readonly calls_made_twice: number;
  }>;
  readonly done: Readonly<Record<string, number>>;
  /** Numbers that must be zero besides those of the lines. */
  readonly mustBeZero: Readonly<Record<string, number>>;
  readonly kills: number;
  readonly settledAfterS: number;
  readonly newConsents: number;
  readonly notes: readonly string[];
}

/** Makes what causes the faults of a week. `progress` says how far each part of the product has come. */
export type MakeTrouble = (stack: Stack, random: Random, progress: () => Progress) => Trouble;

/** A week of athletes and operators in some minutes, in trouble all the time, and the comparison at its end. */
export async function liveWeek(
  options: WeekOptions,
  engines: Engines,
  makeTrouble: MakeTrouble,
): Promise<WeekResult> {
  const { seed, dayMs, workers } = options;
  const stack = await Stack.start({ timeScale: 86_400_000 / dayMs, workers, engines });
  const pool = queryPool(stack.databaseUrl, 3);
  try {
    return await new Week(options, stack, pool, new Random(seed)).live(makeTrouble);
  } finally {
    await pool.end();
    await stack.stop();
  }
}

class Week {
  constructor(
    private readonly options: WeekOptions,
    private readonly stack: Stack,
    private readonly pool: Pool,
    private readonly random: Random,
  ) {}

  async live(makeTrouble: MakeTrouble): Promise<WeekResult> {
    const { stack, random } = this;
    const { world } = stack;
    const { days, dayMs, deletedAthletes } = this.options;
    await openLedger(this.pool);
    const followers = await Followers.start(world, stack.natsUrls);
    const pulse = new PulseNights(world);
    await pulse.start();
    const accounts = await this.connectAll();
    console.log(`${accounts.length} accounts are connected`);
    const progress = () => ({ 'night posted': pulse.acknowledged, ...followers.progress });
    const trouble = makeTrouble(stack, random, progress);
    const operators = new Operators(world, stack.natsUrls, random, () => followers.copy.activityIds);
    const staying = accounts.slice(0);
    const deleted = [...new Set(accounts.map(({ athlete }) => athlete))].slice(-deletedAthletes);
    const life = new Life(
      world,
      staying.filter(({ athlete }) => !deleted.includes(athlete)),
      random,
      dayMs,
    );
    trouble.start();
    operators.start();
    await Promise.all([life.live(days), this.deleteAthletes(deleted)]);
    console.log('the week is over');
    await operators.stop();
    await trouble.stop();
    await pulse.stop();
    const kept = accounts.filter(({ athlete }) => !deleted.includes(athlete));
    const {
      pool,
      stack: { natsUrls },
    } = this;
    const { unreadable } = operators;
    const oracle = new Oracle({
      pool,
      world,
      natsUrls,
      accounts: kept,
      pulse,
      followers,
      unreadable,
      deleted,
    });
    const begunAtMs = performance.now();
    const { lines, newConsents } = await this.settled(oracle, operators, kept);
    const settledAfterS = Math.round((performance.now() - begunAtMs) / 1_000);
    await followers.stop();
    return {
      lines,
      faults: Object.fromEntries(trouble.records),
      calls: await this.calls(),
      done: { ...life.counts, ...operators.counts, 'nights posted': pulse.acknowledged },
      mustBeZero: {
        'deliveries with a wrong id or signature': followers.mistaken,
        'answers that docs/openapi.json does not describe': operators.undocumented.length,
      },
      kills: stack.replicas.reduce((sum, { kills }) => sum + kills, 0),
      settledAfterS,
      newConsents,
      notes: [...operators.undocumented, ...stack.replicas.flatMap(({ endings }) => endings)],
    };
  }

  private async connectAll(): Promise<Account[]> {
    const { world } = this.stack;
    const accounts: Account[] = [];
    for (let n = 0; n < this.options.athletes; n += 1) {
      const athlete = randomUUID();
      for (const provider of vendorsOf(n))
        accounts.push(await Account.create(world, athlete, provider, this.options.activities));
    }
    const waiting = [...accounts];
    const connectSome = async () => {
      for (let account = waiting.shift(); account; account = waiting.shift()) await account.connect();
    };
    await Promise.all(Array.from({ length: CONNECTED_AT_ONCE }, connectSome));
    return accounts;
  }

  /** Athletes who delete their account in the middle of the week. */
  private async deleteAthletes(athletes: readonly string[]): Promise<void> {
    const { days, dayMs } = this.options;
    for (const athlete of athletes) {
      await pause((days * dayMs) / (athletes.length + 1));
      await eventually(
        'the account is deleted',
        async () => (await this.stack.world.call(athlete, 'DELETE', '/v1/account')).status === 202,
        120_000,
      );
    }
  }

  /** An athlete who lost the connection gives a new consent, as the app asks for it. A lost answer to a refresh may have cost it. */
  private async reconnect(accounts: readonly Account[]): Promise<number> {
    let count = 0;
    for (const account of accounts) {
      if (account.wanted !== 'connected') continue;
      const { rows } = await this.pool.query<{ status: string }>(
        'select status from connection where athlete_id = $1 and provider = $2',
        [account.athlete, account.provider],
      );
      if (rows[0]?.status === 'active') continue;
      count += 1;
      await account.connect(account.seesPrivate);
    }
    return count;
  }

  /**
   * Compares again and again until nothing differs, or the time is over. Once a minute an operator looks, and people whose connection has
   * ended give a new consent: the product may notice an ended token only now.
   */
  private async settled(
    oracle: Oracle,
    operators: Operators,
    accounts: readonly Account[],
  ): Promise<Pick<WeekResult, 'lines' | 'newConsents'>> {
    const endsAtMs = performance.now() + this.options.settlesWithinMs;
    let newConsents = 0;
    for (let looks = 0; ; looks += 1) {
      if (looks % LOOKS_BEFORE_REPAIR === 0) {
        newConsents += await this.reconnect(accounts);
        await operators.repair();
      }
      const lines = await oracle.lines();
      const differing = lines.filter(isWrong);
      if (differing.length === 0 || performance.now() > endsAtMs) return { lines, newConsents };
      if (looks % REPORT_EVERY === REPORT_EVERY - 1) console.log(JSON.stringify(differing));
      await pause(LOOK_EVERY_MS);
    }
  }

  private async calls(): Promise<WeekResult['calls']> {
    const { world } = this.stack;
    return Promise.all(
      PROVIDERS.map(async (vendor) => {
        const { total, over_limit, duplicate_requests } = await world.vendorStats(vendor);
        return { vendor, calls: total, over_limit, calls_made_twice: duplicate_requests };
      }),
    );
  }
}
