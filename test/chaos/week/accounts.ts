import { eventually } from '../../harness/eventually.js';
import { type World } from '../../harness/world.js';

export const PROVIDERS = ['strava', 'polar', 'oura', 'whoop'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** The vendors of ten athletes. */
const VENDORS_OF_TEN: ReadonlyArray<readonly Provider[]> = [
  ['strava'],
  ['strava', 'oura'],
  ['polar'],
  ['whoop'],
  ['strava', 'whoop'],
  ['oura'],
  ['polar', 'oura'],
  ['strava', 'polar'],
  ['strava', 'oura', 'whoop'],
  ['strava'],
];
const NIGHTS = 5;
const CONNECTED_MS = 180_000;
const ALL_SCOPES = 'read,activity:read,activity:read_all';

/** One person's account at a vendor, and what the person has last decided about it. */
export class Account {
  /** The connection that the app should have now. */
  wanted: 'connected' | 'disconnected' = 'disconnected';
  /** Strava: whether the person lets the app see "Only you" activities. */
  seesPrivate = true;
  consents = 0;
  /** Ids of activities that the athlete may edit or delete. */
  readonly activities: string[] = [];
  readonly nights = new Map<string, string>();
  private turn: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly world: World,
    readonly athlete: string,
    readonly provider: Provider,
    readonly vendorId: string,
  ) {}

  /** `activities`: of the years before. */
  static async create(world: World, athlete: string, provider: Provider, activities = 8): Promise<Account> {
    const history = { activities, nights: NIGHTS, private_share: 0.1 };
    const vendorId = await world.simulator.newAthlete(provider, history);
    const account = new Account(world, athlete, provider, vendorId);
    account.activities.push(...(await account.atVendor()).activities.map(({ id }) => id));
    return account;
  }

  get hasActivities(): boolean {
    return this.provider === 'strava' || this.provider === 'polar';
  }

  get hasNights(): boolean {
    return this.provider !== 'strava';
  }

  /** Decisions about one account follow each other, as one person makes them. */
  inTurn<T>(decide: () => Promise<T>): Promise<T> {
    const decided = this.turn.then(decide);
    this.turn = decided.catch(() => undefined);
    return decided;
  }

  /** Begins a consent until one has gone through. */
  async connect(seesPrivate = true): Promise<void> {
    const scope = seesPrivate ? ALL_SCOPES : 'read,activity:read';
    const choice: Record<string, string> = this.provider === 'strava' ? { scope_granted: scope } : {};
    this.consents += 1;
    await eventually(
      `${this.provider} is connected`,
      () => this.world.connect(this.athlete, this.vendorId, this.provider, choice).then(() => true),
      CONNECTED_MS,
    );
    this.wanted = 'connected';
    this.seesPrivate = seesPrivate;
  }

  async disconnect(): Promise<void> {
    this.wanted = 'disconnected';
    await eventually(
      `${this.provider} is disconnected`,
      async () => {
        const path = `/v1/connections/${this.provider}`;
        const { status } = await this.world.call(this.athlete, 'DELETE', path);
        return status === 202 || status === 404;
      },
      CONNECTED_MS,
    );
  }

  /** The person ends the app's access at the vendor. */
  async deauthorize(): Promise<void> {
    this.wanted = 'disconnected';
    await this.world.simulator.deauthorize(this.provider, this.vendorId);
  }

  atVendor(): Promise<VendorRecords> {
    return this.world.control<VendorRecords>('GET', `athletes/${this.provider}/${this.vendorId}`);
  }
}

/** The records of an athlete at the simulated vendor. */
export interface VendorRecords {
  readonly connected: boolean;
  readonly activities: ReadonlyArray<{
    readonly id: string;
    readonly name: string;
    readonly private: boolean;
    readonly has_streams: boolean;
  }>;
  readonly nights: ReadonlyArray<{
    readonly id: string;
    readonly date: string;
    readonly duration_minutes: number;
    readonly score: number | null;
    readonly counts: boolean;
  }>;
}

export const vendorsOf = (n: number): readonly Provider[] => VENDORS_OF_TEN[n % VENDORS_OF_TEN.length] ?? [];
