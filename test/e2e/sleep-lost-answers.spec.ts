import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { eventually } from '../harness/eventually.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const DATE = new Date(Date.now() - 8 * 86_400_000).toISOString().slice(0, 10);
const PEOPLE = 5;
const ROUNDS = 3;
const REACHED_MS = 120_000;

interface Person {
  readonly athlete: string;
  readonly vendorId: string;
  readonly sleepId: string;
}

/** WHOOP rotates refresh tokens and refuses the old token. So an answer that is lost ends the grant. */
describe('a connection to WHOOP if the answer to a refresh is lost', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start();
    await world.control('POST', 'webhooks', { vendor: 'whoop', url: `${world.api.url}/webhooks/whoop` });
  });
  afterAll(async () => {
    await world?.stop();
  });

  const connected = async (minutes: number): Promise<Person> => {
    const athlete = randomUUID();
    const { id: vendorId } = await world.control<{ id: string }>('POST', 'athletes', {
      provider: 'whoop',
      activities: 0,
      nights: 0,
    });
    await world.connect(athlete, vendorId, 'whoop');
    const night = { athlete_id: vendorId, date: DATE, duration_minutes: minutes };
    const { id: sleepId } = await world.control<{ id: string }>('POST', 'sleep', night);
    const person = { athlete, vendorId, sleepId };
    await waitForMinutes(person, minutes);
    await eventually('no worker holds work of the athlete', () => isIdle(person), REACHED_MS);
    return person;
  };
  // A worker that took the token before its end could read a later night with it, and another refresh would come before the test's.
  const isIdle = async ({ athlete, vendorId }: Person) => {
    const idle = `
      select from sleep_comparison join connection on connection.id = connection_id
      where connection.athlete_id = $1 and compared_at is not null and begun_at is null and leased_until is null
        and not exists (select from webhook_owner where vendor = 'whoop' and owner_id = $2)`;
    return (await world.rows(idle, [athlete, vendorId])).length > 0;
  };
  const minutesOf = async ({ athlete }: Person) => {
    const statement = 'select duration_minutes as minutes from sleep_data where user_id = $1 and date = $2';
    return (await world.rows<{ minutes: number }>(statement, [athlete, DATE]))[0]?.minutes;
  };
  const waitForMinutes = (person: Person, minutes: number) =>
    eventually(`${minutes} minutes`, async () => (await minutesOf(person)) === minutes, REACHED_MS);
  const changeMinutes = ({ sleepId }: Person, minutes: number) =>
    world.control('PATCH', `sleep/${sleepId}`, { duration_minutes: minutes });
  // Read from the table: so many requests would reach the throttle of the athlete.
  const statusOf = async ({ athlete }: Person) => {
    const statement = "select status from connection where athlete_id = $1 and provider = 'whoop'";
    const [connection] = await world.rows<{ status: string }>(statement, [athlete]);
    return connection?.status;
  };
  const needsReauth = (person: Person) =>
    eventually(
      'the connection is needs_reauth',
      async () => (await statusOf(person)) === 'needs_reauth',
      REACHED_MS,
    );
  const expire = ({ athlete }: Person) =>
    world.rows("update connection set expires_at = now() - interval '1 second' where athlete_id = $1", [
      athlete,
    ]);
  const refused = async () => {
    const counts = await Promise.all(
      world.workers.map(async ({ url }) => {
        const { text } = await request(url).get('/metrics');
        return Number(
          /^oauth_refreshes_total\{provider="whoop",result="refused"\} (\d+)/m.exec(text)?.[1] ?? 0,
        );
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  };
  const tokenCalls = async () => {
    const { whoop } = await world.control<{ whoop: { by_endpoint: { token?: number } } }>('GET', 'stats');
    return whoop.by_endpoint.token ?? 0;
  };

  it('a connection becomes needs_reauth if the answer to a refresh is lost, and gets the newest night after a new consent', async () => {
    const person = await connected(410);
    const before = await refused();
    await world.control('POST', 'faults', {
      vendor: 'whoop',
      endpoint: 'token',
      kind: 'lost_answer',
      count: 1,
    });
    await expire(person);
    await changeMinutes(person, 358);
    await needsReauth(person);
    expect(await refused()).toBe(before + 1);
    expect(await minutesOf(person)).toBe(410);
    // No further event names this night. The reconciliation after the new consent finds it.
    await world.connect(person.athlete, person.vendorId, 'whoop');
    await waitForMinutes(person, 358);
    expect(await statusOf(person)).toBe('active');
  }, 400_000);

  it('a connection becomes needs_reauth if a worker is killed during a refresh, and recovers after a new consent', async () => {
    const person = await connected(410);
    const calls = await tokenCalls();
    const slow = { vendor: 'whoop', endpoint: 'token', kind: 'slow', delay_ms: 600_000, count: 1 };
    await world.control('POST', 'faults', slow);
    await expire(person);
    await changeMinutes(person, 358);
    // WHOOP rotates the token at this call.
    await eventually('the token endpoint is called', async () => (await tokenCalls()) > calls, REACHED_MS);
    const [worker] = world.workers;
    if (worker) await world.kill(worker);
    await world.startWorker();
    await changeMinutes(person, 359);
    await needsReauth(person);
    expect(await refused()).toBeGreaterThan(0);
    await world.connect(person.athlete, person.vendorId, 'whoop');
    await waitForMinutes(person, 359);
  }, 400_000);

  it('each connection gets its newest night or becomes needs_reauth although answers are lost and workers are killed', async () => {
    await world.startWorker();
    const people: Person[] = [];
    // The athletes connect one after the other, because each profile request counts against WHOOP's limit.
    while (people.length < PEOPLE) people.push(await connected(400));
    await world.control('POST', 'faults', { vendor: 'whoop', kind: 'lost_answer', rate: 0.15, seed: 7 });
    for (let round = 1; round <= ROUNDS; round += 1) {
      await Promise.all(people.map((person) => changeMinutes(person, 400 + round)));
      const [worker] = world.workers;
      if (worker) await world.kill(worker);
      await world.startWorker();
      await Promise.all(people.map((person) => changeMinutes(person, 410 + round)));
    }
    await world.control('DELETE', 'faults');
    const isRight = async (person: Person) =>
      (await minutesOf(person)) === 410 + ROUNDS || (await statusOf(person)) === 'needs_reauth';
    for (const person of people)
      await eventually('the newest night, or needs_reauth', () => isRight(person), REACHED_MS);
    for (const person of people) {
      await world.connect(person.athlete, person.vendorId, 'whoop');
      await waitForMinutes(person, 410 + ROUNDS);
    }
  }, 600_000);
});
