import { setTimeout as pause } from 'node:timers/promises';
import { type World } from '../../harness/world.js';
import { Random } from '../random.js';
import { type Account } from './accounts.js';

const DAY_MS = 86_400_000;
// All nights lie within the two weeks that every reconciliation compares.
const OLDEST_NIGHT = 12;
const NEWEST_NIGHT = 2;
const RETURN_AFTER_DAYS = 0.4;
const RETURNS = 0.85;

// Nothing is deleted at Polar: all records of this week began before the consent, and of such records a 404 is no proof of a deletion
// (docs/vendors/polar.md).
/** An action of a person with one account, and how often it happens in a day. */
interface Habit {
  readonly name: string;
  readonly perDay: number;
  readonly fits: (account: Account) => boolean;
  /** False: there was nothing to do. */
  readonly act: (life: Life, account: Account, random: Random) => Promise<boolean>;
}

const HABITS: readonly Habit[] = [
  {
    name: 'activities uploaded',
    perDay: 1,
    fits: ({ hasActivities }) => hasActivities,
    act: (life, account, random) => life.upload(account, random),
  },
  {
    name: 'activities edited',
    perDay: 0.5,
    fits: ({ provider }) => provider === 'strava',
    act: (life, account, random) => life.edit(account, random),
  },
  {
    name: 'activities deleted',
    perDay: 0.2,
    fits: ({ provider }) => provider === 'strava',
    act: (life, account, random) => life.deleteActivity(account, random),
  },
  {
    name: 'nights slept',
    perDay: 1,
    fits: ({ hasNights }) => hasNights,
    act: (life, account, random) => life.sleep(account, random),
  },
  {
    name: 'nights scored again',
    perDay: 0.5,
    fits: ({ hasNights }) => hasNights,
    act: (life, account, random) => life.rescore(account, random),
  },
  {
    name: 'nights deleted',
    perDay: 0.15,
    fits: ({ provider }) => provider === 'oura' || provider === 'whoop',
    act: (life, account, random) => life.deleteNight(account, random),
  },
  {
    name: 'scopes changed',
    perDay: 0.06,
    fits: ({ provider }) => provider === 'strava',
    act: (life, account) => life.changeScopes(account),
  },
  {
    name: 'access ended at the vendor',
    perDay: 0.05,
    fits: () => true,
    act: (life, account, random) => life.leave(account, random, () => account.deauthorize()),
  },
  {
    name: 'access ended in the app',
    perDay: 0.05,
    fits: () => true,
    act: (life, account, random) => life.leave(account, random, () => account.disconnect()),
  },
  {
    name: 'tokens ended early',
    perDay: 0.1,
    fits: () => true,
    act: (life, account) => life.expire(account),
  },
];

/** The actions of the athletes at their vendors during the week. The seed decides who does what and when. */
export class Life {
  readonly counts: Record<string, number> = {};
  private readonly doing = new Set<Promise<void>>();
  private isOver = false;

  constructor(
    private readonly world: World,
    private readonly accounts: readonly Account[],
    private readonly random: Random,
    private readonly dayMs: number,
  ) {}

  /** Resolves at the end of the week, when all that was begun is done. */
  async live(days: number): Promise<void> {
    const begunAtMs = performance.now();
    for (const { atMs, habit, account, random } of this.plan(days)) {
      await pause(Math.max(0, begunAtMs + atMs - performance.now()));
      this.begin(habit.name, account, () => habit.act(this, account, random));
    }
    this.isOver = true;
    await Promise.all(this.doing);
  }

  upload(account: Account, random: Random): Promise<boolean> {
    const { vendorId: athlete_id, provider } = account;
    const order = {
      ...{ athlete_id, provider, duration_s: 600 + random.below(900) },
      start_date: new Date(Date.now() - random.between(0.1, 6) * DAY_MS).toISOString(),
      ...(provider === 'strava' && { private: random.chance(0.1), manual: random.chance(0.05) }),
    };
    return this.control<{ id: string }>('POST', 'activities', order).then(({ id }) => {
      account.activities.push(id);
      return true;
    });
  }

  async edit(account: Account, random: Random): Promise<boolean> {
    if (account.activities.length === 0) return false;
    const id = random.pick(account.activities);
    const edit = random.chance(0.15)
      ? { private: random.chance(0.5) }
      : { name: `Name ${random.below(1_000_000)}` };
    await this.control('PATCH', `activities/${id}`, edit);
    return true;
  }

  async deleteActivity(account: Account, random: Random): Promise<boolean> {
    if (account.activities.length === 0) return false;
    const [id] = account.activities.splice(random.below(account.activities.length), 1);
    await this.control('DELETE', `activities/${id}`);
    return true;
  }

  async sleep(account: Account, random: Random): Promise<boolean> {
    const date = dayBefore(NEWEST_NIGHT + random.below(OLDEST_NIGHT - NEWEST_NIGHT));
    if (account.nights.has(date)) return this.rescore(account, random);
    const { vendorId: athlete_id, provider } = account;
    account.nights.set(date, '');
    const { id } = await this.control<{ id: string }>('POST', 'sleep', {
      ...{ athlete_id, provider, date },
      ...nightOf(random),
      ...(provider === 'whoop' && random.chance(0.3) && { score_after_seconds: 3_600 }),
    });
    account.nights.set(date, id);
    return true;
  }

  async rescore(account: Account, random: Random): Promise<boolean> {
    const ids = [...account.nights.values()].filter(Boolean);
    if (ids.length === 0) return false;
    await this.control('PATCH', `sleep/${random.pick(ids)}`, nightOf(random));
    return true;
  }

  async deleteNight(account: Account, random: Random): Promise<boolean> {
    const known = [...account.nights].filter(([, id]) => id);
    if (known.length === 0) return false;
    const [date, id] = random.pick(known);
    account.nights.delete(date);
    await this.control('DELETE', `sleep/${id}`);
    return true;
  }

  async changeScopes(account: Account): Promise<boolean> {
    if (account.wanted !== 'connected') return false;
    await account.connect(!account.seesPrivate);
    return true;
  }

  /** Most people come back. */
  async leave(account: Account, random: Random, go: () => Promise<void>): Promise<boolean> {
    if (account.wanted !== 'connected') return false;
    await go();
    if (!random.chance(RETURNS)) return true;
    await pause(RETURN_AFTER_DAYS * this.dayMs);
    await account.connect(random.chance(0.8));
    return true;
  }

  async expire(account: Account): Promise<boolean> {
    if (account.wanted !== 'connected') return false;
    const { vendorId: athlete_id, provider } = account;
    await this.control('POST', 'expire', { athlete_id, provider });
    return true;
  }

  private begin(name: string, account: Account, act: () => Promise<boolean>): void {
    if (this.isOver) return;
    const done = account
      .inTurn(act)
      .then((isDone) => void (this.counts[name] = (this.counts[name] ?? 0) + (isDone ? 1 : 0)))
      .catch((error: Error) => console.error(`${name}: ${error.message}`))
      .finally(() => this.doing.delete(done));
    this.doing.add(done);
  }

  private plan(days: number) {
    return HABITS.flatMap((habit) =>
      this.accounts.filter(habit.fits).flatMap((account) => {
        const expected = habit.perDay * days;
        const times = Math.floor(expected) + (this.random.chance(expected % 1) ? 1 : 0);
        const moment = () => ({
          ...{ atMs: this.random.next() * days * this.dayMs, habit, account },
          random: new Random(this.random.below(2 ** 31)),
        });
        return Array.from({ length: times }, moment);
      }),
    ).sort((one, other) => one.atMs - other.atMs);
  }

  private control<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    return this.world.control<T>(method, path, body);
  }
}

const nightOf = (random: Random) => ({
  duration_minutes: 300 + random.below(240),
  score: 40 + random.below(60),
});

const dayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
