import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import {
  loadProductConfig,
  VENDOR_IDS,
  VENDORS,
  type Vendor,
  type VendorId,
  type WebhookDelivery,
} from '#vendors';
import { Vault } from '../../libs/connections/src/crypto/vault.js';
import { deliveryOf } from '../../libs/webhooks/src/events.harness.js';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';
import { type Person, RECORD_KINDS, type RecordKind, type TrueRecord } from '../harness/record-kinds.js';
import { eightAccessTokens } from '../harness/refreshers.js';
import { Remains } from '../harness/remains.js';
import { required } from '../harness/servers.js';
import { CLIENT } from '../harness/simulator.js';
import { adaptorOf } from '../harness/vendor-adaptors.js';
import { type ReceiptBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

// Windows last long enough that a test can fill one, and short enough that it can wait for several: 10 s for 15 minutes.
const TIME_SCALE = 90;
const PATIENCE_MS = 120_000;
const A_DOZEN = 12;

let server: NatsServer;
let connection: NatsConnection;
let redis: Redis;
let world: World;
beforeAll(async () => {
  server = await NatsServer.start();
  world = await World.start({ timeScale: TIME_SCALE, env: { NATS_URL: server.url } });
  connection = await connect({ servers: server.url });
  redis = new Redis(required('REDIS_URL'));
});
afterEach(() => world.simulator.clearFaults());
afterAll(async () => {
  redis.disconnect();
  await connection?.close();
  await world?.stop();
  await server?.stop();
});

/** The kinds of records that a vendor's entry in the registry promises. */
function kindsOf(vendor: VendorId): RecordKind[] {
  const entry: Vendor = VENDORS[vendor];
  return Object.entries(RECORD_KINDS).flatMap(([capability, kind]) =>
    entry[capability as keyof typeof RECORD_KINDS] ? [kind] : [],
  );
}

// A vendor without records has nothing that the cases could compare.
const vendors = VENDOR_IDS.filter((vendor) => kindsOf(vendor).length > 0);

describe.each(vendors)('%s', (vendor) => {
  const adaptor = adaptorOf(vendor);
  const { oauth, limits, webhook }: Vendor = VENDORS[vendor];
  const kinds = kindsOf(vendor).map((kind) => [kind.objectType, kind] as const);
  const [firstKind] = kindsOf(vendor) as [RecordKind];

  beforeAll(async () => {
    // Later ids are greater. An id of few digits would be found in any date by the search for a deleted person's data.
    await world.simulator.newAthlete(vendor, { first_activity_id: '16000000000' });
    await receiveEvents();
  });

  const receiveEvents = () => {
    // Without an API for subscriptions, the app's owner enters the address on the vendor's page.
    if (!webhook?.subscriptions)
      return world.control('POST', 'webhooks', { vendor, url: `${world.api.url}/webhooks/${vendor}` });
    const { length } = webhook.subscriptions.topics;
    return eventually(`subscriptions at ${vendor}`, async () => (await subscriptions()).length === length);
  };
  const subscriptions = () =>
    world.rows<{ id: string }>(
      'select subscription_id as id from webhook_subscription where vendor = $1 and subscription_id is not null',
      [vendor],
    );

  const newPerson = async (): Promise<Person> => {
    const order = { activities: 0, nights: 0 };
    const vendorAthleteId = await world.simulator.newAthlete(vendor, order);
    return { vendor, athlete: randomUUID(), vendorAthleteId };
  };
  const connectPerson = ({ athlete, vendorAthleteId }: Person) =>
    world.connect(athlete, vendorAthleteId, vendor);
  /** A connected person without records, after the first listing of each kind. */
  const connectedPerson = async (): Promise<Person> => {
    const person = await newPerson();
    await connectPerson(person);
    await listed(person);
    return person;
  };
  const listed = async (person: Person) => {
    for (const [name, kind] of kinds)
      await eventually(`the first listing (${name})`, () => kind.isListed(world, person), PATIENCE_MS);
  };
  const make = async (kind: RecordKind, person: Person, count: number, from = 0): Promise<TrueRecord[]> => {
    const made: TrueRecord[] = [];
    for (let index = from; index < from + count; index += 1) made.push(await kind.make(world, person, index));
    return made;
  };
  /** Waits until we have these records, and compares all that we have with them, id by id. */
  const arrive = async (
    kind: RecordKind,
    person: Person,
    records: readonly TrueRecord[],
    state: 'stored' | 'complete' = 'stored',
  ) => {
    const expected = records.map(({ id }) => id).sort();
    await eventually(
      `${records.length} records of ${vendor} are ${state}`,
      async () => {
        const here = new Set(await kind[state](world, person));
        return expected.every((id) => here.has(id));
      },
      PATIENCE_MS,
    );
    expect((await kind.stored(world, person)).sort()).toEqual(expected);
  };
  const connectionOf = async ({ athlete }: Person) => {
    type Item = { readonly provider: string; readonly status: string; readonly vendor_athlete_id: string };
    const { body } = await world.call<{ items: Item[] }>(athlete, 'GET', '/v1/connections');
    return body.items.find(({ provider }) => provider === vendor);
  };
  /** Reads the row, because the api limits requests. */
  const statusOf = async ({ athlete }: Person) => {
    const [row] = await world.rows<{ status: string }>(
      `select status from connection join athlete on athlete.id = athlete_id where subject = $1 and provider = $2`,
      [athlete, vendor],
    );
    return row?.status;
  };
  const calls = (endpoint: string) => world.simulator.calls(vendor, endpoint);
  const vendorConfig = () => loadProductConfig(world.env).vendors[vendor];
  /** The status with which the vendor answers this access token. */
  const probe = async ({ vendorAthleteId }: Person, token: string) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const url = `${vendorConfig().apiUrl}${adaptor.probePath(vendorAthleteId)}`;
    return (await fetch(url, { headers })).status;
  };
  const tokensOf = async ({ athlete }: Person) => {
    const [row] = await world.rows<{ owner: string; access_token: string; refresh_token: string | null }>(
      `select athlete.id as owner, access_token, refresh_token
       from connection join athlete on athlete.id = connection.athlete_id
       where subject = $1 and provider = $2`,
      [athlete, vendor],
    );
    if (!row) throw new Error(`no connection of ${athlete}`);
    const vault = new Vault(loadProductConfig(world.env).encryptionKeys);
    const place = { table: 'connection', owner: row.owner, provider: vendor } as const;
    return {
      owner: row.owner,
      access: vault.open(row.access_token, { ...place, column: 'access_token' }),
      refresh: row.refresh_token && vault.open(row.refresh_token, { ...place, column: 'refresh_token' }),
    };
  };
  const windowsOf = async () => (await world.vendorStats(vendor)).windows;
  const webhookCount = async (result: string) => {
    const text = await (await fetch(`${world.api.url}/metrics`)).text();
    const line = new RegExp(`^webhook_events_total{vendor="${vendor}",result="${result}"} (\\d+)`, 'm');
    return Number(line.exec(text)?.[1] ?? 0);
  };
  const expireAtVendor = ({ vendorAthleteId: athlete_id }: Person) =>
    world.control('POST', 'expire', { athlete_id, provider: vendor });

  it(`${vendor}: an athlete connects, and the records from before and after appear in the API`, async () => {
    const person = await newPerson();
    const before = adaptor.hidesHistory ? [] : await make(firstKind, person, 3);
    await connectPerson(person);
    expect(await connectionOf(person)).toMatchObject({
      status: 'active',
      vendor_athlete_id: person.vendorAthleteId,
    });
    await listed(person);
    for (const [, kind] of kinds) {
      const known = kind === firstKind ? before : [];
      const all = [...known, ...(await make(kind, person, 2, known.length))];
      await arrive(kind, person, all);
      await eventually('the records in the API', async () => {
        const shown = await kind.shown(world, person);
        return (
          shown.sort().join() ===
          all
            .map(({ shownAs }) => shownAs)
            .sort()
            .join()
        );
      });
    }
  });

  const lastChoice = oauth.requiredScopes.at(-1);
  if (lastChoice && oauth.grantedScopesIn !== 'nowhere')
    it(`${vendor}: a consent without ${lastChoice.join(' or ')} connects nothing and names the missing scope`, async () => {
      const { athlete, vendorAthleteId } = await newPerson();
      const start = `/v1/connections/${vendor}`;
      const { body } = await world.call<{ authorize_url: string }>(athlete, 'POST', start, {});
      const granted = oauth.scopes.filter((scope) => !lastChoice.includes(scope));
      const back = await world.simulator.consent(body.authorize_url, {
        athlete_id: vendorAthleteId,
        scope_granted: granted.join(oauth.scopeSeparator),
      });
      const callback = await fetch(back, { headers: { accept: 'application/json' } });
      let refusal = (await callback.json()) as object;
      if ('confirm' in refusal)
        refusal = (
          await world.call<object>(athlete, 'POST', `${start}/confirm`, { confirm: refusal.confirm })
        ).body;
      expect(refusal).toMatchObject({ code: 'MISSING_SCOPE' });
      expect(JSON.stringify(refusal)).toContain(lastChoice[0]);
      expect((await world.call(athlete, 'GET', '/v1/connections')).body).toEqual({ items: [] });
    });

  if (oauth.refresh !== 'none') {
    it(`${vendor}: eight simultaneous requests for an expired token, in two processes, cause one refresh, and the vendor refuses the old tokens`, async () => {
      const person = await connectedPerson();
      const old = await tokensOf(person);
      await expireAtVendor(person);
      await world.rows('update connection set expires_at = now() where athlete_id = $1', [old.owner]);
      const before = await calls('token');
      const tokens = await eightAccessTokens({ env: world.env, athleteId: old.owner, provider: vendor });
      expect((await calls('token')) - before).toBe(1);
      const now = await tokensOf(person);
      expect(tokens).toEqual(tokens.map(() => now.access));
      expect(await probe(person, old.access)).toBeGreaterThanOrEqual(400);
      expect(await probe(person, now.access)).toBe(200);
      if (!adaptor.rotatesRefreshTokens) return expect(now.refresh).toBe(old.refresh);
      expect(now.refresh).not.toBe(old.refresh);
      const form = { grant_type: 'refresh_token', refresh_token: old.refresh ?? '', ...oauth.refreshExtras };
      const body = new URLSearchParams({ client_id: CLIENT.id, client_secret: CLIENT.secret, ...form });
      const { status } = await fetch(oauth.tokenUrl(vendorConfig()), { method: 'POST', body });
      expect([400, 401]).toContain(status);
    });

    it(`${vendor}: a token that the vendor ends early is refreshed once, and a record made meanwhile arrives`, async () => {
      const person = await connectedPerson();
      await expireAtVendor(person);
      const before = await calls('token');
      await arrive(firstKind, person, await make(firstKind, person, 1));
      expect((await calls('token')) - before).toBe(1);
      expect(await connectionOf(person)).toMatchObject({ status: 'active' });
    });
  } else
    it(`${vendor}: a token that the vendor ends is not refreshed; the athlete has to connect again, and then no record is missing`, async () => {
      const person = await connectedPerson();
      const before = await calls('token');
      await expireAtVendor(person);
      const records = await make(firstKind, person, 1);
      await asksAgain(person);
      expect(await calls('token')).toBe(before);
      await connectPerson(person);
      expect(await connectionOf(person)).toMatchObject({ status: 'active' });
      await firstKind.makeReconciliationDue(world, person);
      await arrive(firstKind, person, records);
    });

  const asksAgain = (person: Person) =>
    eventually('needs_reauth', async () => (await statusOf(person)) === 'needs_reauth', PATIENCE_MS);

  it(`${vendor}: a disconnection revokes the grant with one call, and the vendor refuses the token afterwards`, async () => {
    const person = await connectedPerson();
    await arrive(firstKind, person, await make(firstKind, person, 1));
    const { access } = await tokensOf(person);
    expect(await probe(person, access)).toBe(200);
    const before = await calls(adaptor.revocationEndpoint);
    const { status } = await world.call(person.athlete, 'DELETE', `/v1/connections/${vendor}`);
    expect(status).toBe(202);
    await eventually('the grant is gone', async () => {
      return !(await world.simulator.isConnected(person.vendorAthleteId));
    });
    expect((await calls(adaptor.revocationEndpoint)) - before).toBe(1);
    expect(await probe(person, access)).toBeGreaterThanOrEqual(400);
    expect(await connectionOf(person)).toBeUndefined();
    await eventually('its records are deleted', async () => {
      return (await firstKind.stored(world, person)).length === 0;
    });
  });

  if (webhook?.objects.includes('athlete'))
    it(`${vendor}: an athlete who removes our access at the vendor loses the connection and its records here`, async () => {
      const person = await connectedPerson();
      await arrive(firstKind, person, await make(firstKind, person, 1));
      await world.simulator.deauthorize(vendor, person.vendorAthleteId);
      await eventually(
        'the connection is gone',
        async () => (await statusOf(person)) === undefined,
        PATIENCE_MS,
      );
      await eventually('its records are deleted', async () => {
        return (await firstKind.stored(world, person)).length === 0;
      });
    });
  else
    it(`${vendor}: an athlete who removes our access at the vendor is asked to connect again, and keeps the records`, async () => {
      const person = await connectedPerson();
      const records = await make(firstKind, person, 1);
      await arrive(firstKind, person, records);
      await world.simulator.deauthorize(vendor, person.vendorAthleteId);
      // The vendor sends no event about it, so the next call finds out.
      await firstKind.makeReconciliationDue(world, person);
      await asksAgain(person);
      await connectPerson(person);
      expect(await connectionOf(person)).toMatchObject({ status: 'active' });
      await arrive(firstKind, person, records);
    });

  if (webhook)
    it.each(kinds)(
      `${vendor}: a forged event (%s) stores nothing; the genuine one brings the record, and its repetition changes nothing`,
      async (_, kind) => {
        const person = await connectedPerson();
        await world.simulator.fault(vendor, 'webhooks', 'drop');
        const [record] = (await make(kind, person, 1)) as [TrueRecord];
        await world.simulator.clearFaults();
        const event = {
          object: record.id,
          owner: person.vendorAthleteId,
          subscription: Number((await subscriptions())[0]?.id),
        };
        const send = async ({ pathSecret, headers, body }: WebhookDelivery) => {
          const url = [world.api.url, 'webhooks', vendor, pathSecret].filter(Boolean).join('/');
          const all = new Headers({ 'content-type': 'application/json' });
          for (const [name, value] of Object.entries(headers)) all.set(name, String(value));
          return (await fetch(url, { method: 'POST', headers: all, body })).status;
        };
        const received = await webhookCount('received');
        expect([401, 404]).toContain(await send(deliveryOf(vendor, event, 'a-secret-that-nobody-agreed-on')));
        expect(await webhookCount('received')).toBe(received);
        expect(await kind.stored(world, person)).toEqual([]);

        const secret = (await adaptor.webhookSecret?.(world)) ?? CLIENT.secret;
        const genuine = deliveryOf(vendor, event, secret);
        const duplicates = await webhookCount('duplicate');
        expect(await send(genuine)).toBe(200);
        await arrive(kind, person, [record]);
        expect(await send(genuine)).toBe(200);
        expect(await webhookCount('received')).toBe(received + 1);
        expect(await webhookCount('duplicate')).toBe(duplicates + 1);
        const kept = await world.rows(
          'select 1 from webhook_event where vendor = $1 and owner_id = $2 and object_id = $3',
          [vendor, person.vendorAthleteId, record.id],
        );
        expect(kept).toHaveLength(1);
        // An event that the vendor sends twice at once.
        await world.simulator.fault(vendor, 'webhooks', 'double', { count: 1 });
        await arrive(kind, person, [record, ...(await make(kind, person, 1, 1))]);
        await eventually(
          'the repetition is counted',
          async () => (await webhookCount('duplicate')) === duplicates + 2,
          PATIENCE_MS,
        );
      },
    );

  it(`${vendor}: a dozen records arrive within a lowered limit, and no call goes over it`, async () => {
    const person = await connectedPerson();
    const usual = await world.control<Record<string, number>>('POST', 'limits', { vendor });
    await world.control('POST', 'limits', { vendor, ...adaptor.scarceLimits });
    try {
      // The vendor's next answer tells us the lowered limit.
      const first = await make(firstKind, person, 1);
      await arrive(firstKind, person, first);
      const before = await windowsOf();
      const all = [...first, ...(await make(firstKind, person, A_DOZEN, 1))];
      await arrive(firstKind, person, all, 'complete');
      // A vendor that does not report its limits answers 429 to the calls that are under way at that moment.
      const unavoidable = limits.rateHeaders ? 0 : limits.slots;
      const later = (await windowsOf()).filter(({ id }) => before.every((one) => one.id !== id));
      expect(later.filter(({ over_limit }) => over_limit > unavoidable)).toEqual([]);
      const [[name, limit] = ['', 0]] = Object.entries(adaptor.scarceLimits);
      expect(Math.max(...later.map(({ used }) => used[name] ?? 0))).toBeGreaterThanOrEqual(limit);
    } finally {
      await world.control('POST', 'limits', usual);
      await eventually('the window that the vendor has closed is over', async () => {
        const closed = `select 1 from ${vendor}_api_requests where closed_until > clock_timestamp()`;
        return (await world.rows(closed)).length === 0;
      });
    }
  });

  it.each(['http_500', 'timeout'])(
    `${vendor}: records of an outage (%s) arrive once after its end`,
    async (kind) => {
      const person = await connectedPerson();
      const before = (await world.vendorStats(vendor)).faults_injected;
      await world.control('POST', 'faults', { vendor, kind });
      const records = await make(firstKind, person, 3);
      await eventually(
        'some calls fail',
        async () => (await world.vendorStats(vendor)).faults_injected >= before + 2,
        PATIENCE_MS,
      );
      expect(await firstKind.stored(world, person)).toEqual([]);
      await world.simulator.clearFaults();
      await arrive(firstKind, person, records, 'complete');
      expect(await connectionOf(person)).toMatchObject({ status: 'active' });
    },
  );

  it.each(kinds)(
    `${vendor}: the next reconciliation finds a record (%s) whose event was lost`,
    async (_, kind) => {
      const person = await connectedPerson();
      const known = await make(kind, person, 1);
      await arrive(kind, person, known);
      await world.simulator.fault(vendor, 'webhooks', 'drop');
      const lost = await make(kind, person, 2, 1);
      await kind.makeReconciliationDue(world, person);
      await arrive(kind, person, [...known, ...lost], 'complete');
    },
  );

  it(`${vendor}: the deletion of an account removes its rows, messages and grant`, async () => {
    const person = await connectedPerson();
    const records: TrueRecord[] = [];
    for (const [name, kind] of kinds) {
      const made = await make(kind, person, 2);
      await arrive(kind, person, made);
      // A date is in many rows of other people.
      if (name === 'activity' || !adaptor.namesNightsByDate) records.push(...made);
    }
    const remains = new Remains(world, redis, connection);
    const names = [person.vendorAthleteId, ...records.map(({ id }) => id)];
    expect(await remains.mentioning(names)).not.toEqual([]);
    const { body } = await world.call<{ receipt_id: string }>(person.athlete, 'DELETE', '/v1/account');
    await eventually(
      'the receipt is completed',
      async () => {
        const answer = await fetch(`${world.api.url}/v1/receipts/${body.receipt_id}`);
        return ((await answer.json()) as ReceiptBody).status === 'completed';
      },
      PATIENCE_MS,
    );
    await eventually('the grant is gone', async () => {
      return !(await world.simulator.isConnected(person.vendorAthleteId));
    });
    await eventually('the revocation is done', async () => {
      return (await world.rows('select 1 from revocation where provider = $1', [vendor])).length === 0;
    });
    expect(await remains.mentioning(names)).toEqual([]);
  });
});
