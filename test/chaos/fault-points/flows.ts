import { randomUUID } from 'node:crypto';
import { Account } from '../week/accounts.js';
import { INGEST_KEY } from '../week/stack.js';
import { type World } from '../../harness/world.js';
import { type FlowName } from './points.js';

const NIGHT = { athlete: randomUUID(), date: '2026-01-02' };

/** Begins each flow, and knows the rows that should be there once it has ended. */
export class Flows {
  readonly accounts: Account[] = [];
  readonly deleted: string[] = [];
  /** Nights that were posted and acknowledged. */
  readonly posts = { athletes: [NIGHT.athlete], last: new Map<string, number>() };
  private readonly leavers: Account[] = [];
  private minutes = 300;

  constructor(private readonly world: World) {}

  /** `leavers`: athletes whose accounts will be deleted. */
  async prepare(leavers: number): Promise<void> {
    await this.world.call(NIGHT.athlete, 'GET', '/v1/me');
    for (const provider of ['strava', 'whoop'] as const) await this.connect(provider);
    for (let count = 0; count < leavers; count += 1) this.leavers.push(await this.connect('strava'));
  }

  /** Resolves when the flow has something to do. May be called again if it was done before a process reached its point. */
  async begin(flow: FlowName): Promise<void> {
    switch (flow) {
      case 'import':
        await this.connect('strava');
        return;
      case 'activity upsert':
        return this.upload();
      case 'token refresh':
        await this.world.control('POST', 'expire', { athlete_id: this.strava.vendorId, provider: 'strava' });
        return this.upload();
      case 'webhook event':
        return this.sleep();
      case 'stream fetch':
        return this.resetStreams();
      case 'processing run':
        await this.world.call(this.strava.athlete, 'POST', '/v1/activities/latest/process');
        return;
      case 'sleep normalise':
      case 'relay to NATS':
      case 'webhook delivery':
        return this.post();
      case 'deletion':
        return this.deleteAccount();
    }
  }

  private get strava(): Account {
    return this.accounts[0] as Account;
  }

  private async connect(provider: 'strava' | 'whoop'): Promise<Account> {
    const account = await Account.create(this.world, randomUUID(), provider);
    await account.connect();
    this.accounts.push(account);
    return account;
  }

  private async upload(): Promise<void> {
    await this.world.control('POST', 'activities', { athlete_id: this.strava.vendorId, duration_s: 600 });
  }

  private async sleep(): Promise<void> {
    const [date, score] = [dayBefore(2 + (this.minutes % 10)), 50];
    const { vendorId: athlete_id } = this.accounts[1] as Account;
    const night = { athlete_id, date, duration_minutes: (this.minutes += 1), score };
    await this.world.control('POST', 'sleep', night);
  }

  private async resetStreams(): Promise<void> {
    const [activity] = await this.world.rows<{ id: string }>(
      "select id from activity where athlete_id = $1 and stream_fetch_status = 'success' limit 1",
      [this.strava.athlete],
    );
    await this.world.admin('POST', `activities/${activity?.id}/reset-stream-fetch`);
  }

  private async post(): Promise<void> {
    const minutes = (this.minutes += 1);
    const { athlete, date } = NIGHT;
    const answer = await fetch(`${this.world.url}/api/v1/ingest/sleep`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': INGEST_KEY },
      body: JSON.stringify({ userId: athlete, date, durationMinutes: minutes }),
    });
    if (!answer.ok) throw new Error(`ingest: ${answer.status} ${await answer.text()}`);
    this.posts.last.set(`${athlete} ${date}`, minutes);
  }

  private async deleteAccount(): Promise<void> {
    const account = this.leavers.shift();
    if (!account) return;
    this.accounts.splice(this.accounts.indexOf(account), 1);
    await this.world.call(account.athlete, 'DELETE', '/v1/account');
    this.deleted.push(account.athlete);
  }
}

const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
