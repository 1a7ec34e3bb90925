import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { NotFound, OperatorActions } from '#platform';
import { blocksOf, plansOf, waysInto } from '../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { EventQueue } from './event-queue.js';
import { floodOf } from './events.harness.js';
import { listStatement, WebhookEvents } from './webhook-events.js';

// A few index pages and the rows of a page. A scan of all handled events would read thousands of blocks.
const MOST_BLOCKS = 200;

describe('WebhookEvents', () => {
  let open: OpenDatabase;
  let events: WebhookEvents;
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 });
    events = new WebhookEvents(open.database, new OperatorActions(open.database));
  });
  beforeEach(() => open.database.query('truncate webhook_event, webhook_owner, operator_action'));
  afterAll(() => open.close());

  const setAside = (where = 'true') =>
    open.database.query(
      `update webhook_event
       set processed_at = now(), outcome = 'set_aside', attempts = 20, last_error = 'VENDOR_CALL_REFUSED'
       where ${where}`,
    );

  it('lists webhook events by vendor and status, oldest first, in pages', async () => {
    await floodOf(open.database, { vendor: 'strava', owners: [1, 2], each: 2 });
    await floodOf(open.database, { vendor: 'whoop', owners: [3], each: 3 });
    await setAside("vendor = 'whoop' and object_id <> '3000003'");
    const list = async (filter: object) => {
      const page = await events.list({ cursor: 0, limit: 50, ...filter });
      return page.items.map(({ vendor, status }) => `${vendor} ${status}`);
    };
    expect(await list({ vendor: 'strava' })).toEqual(Array.from({ length: 4 }, () => 'strava waiting'));
    expect(await list({ status: 'set_aside' })).toEqual(['whoop set_aside', 'whoop set_aside']);
    expect(await list({ vendor: 'whoop', status: 'waiting' })).toEqual(['whoop waiting']);
    expect(await list({ vendor: 'oura' })).toEqual([]);
    const first = await events.list({ cursor: 0, limit: 5 });
    const rest = await events.list({ cursor: Number(first.next_cursor), limit: 5 });
    expect([first.items.length, rest.items.length, rest.next_cursor]).toEqual([5, 2, null]);
  });

  it('makes an event that was set aside due at once with all its attempts, and records the operator', async () => {
    await floodOf(open.database, { vendor: 'oura', owners: [1], each: 1 });
    await setAside();
    await open.database.query('update webhook_event set outages = 9');
    await open.database.query('truncate webhook_owner');
    const [{ id } = { id: '' }] = (await events.list({ cursor: 0, limit: 1 })).items;
    expect(await events.retry(Number(id), 'operator')).toMatchObject({ id, status: 'waiting', attempts: 0 });
    const claim = await new EventQueue('oura', open.database).claim(30_000);
    expect(claim?.group.events).toMatchObject([{ id, attempts: 1 }]);
    expect(claim?.outages).toBe(0);
    const { rows } = await open.database.query('select actor, action, target from operator_action');
    expect(rows).toEqual([{ actor: 'operator', action: 'webhook.retry', target: id }]);
  });

  it('retries no event that waits or was handled, and records nothing', async () => {
    await floodOf(open.database, { owners: [1], each: 2 });
    await open.database.query(
      "update webhook_event set processed_at = now(), outcome = 'applied' where object_id = '1000001'",
    );
    const { rows } = await open.database.query<{ id: string }>('select id from webhook_event');
    for (const { id } of rows)
      await expect(events.retry(Number(id), 'operator')).rejects.toBeInstanceOf(NotFound);
    expect((await open.database.query('select from operator_action')).count).toBe(0);
  });

  it.each(['waiting', 'set_aside', undefined] as const)(
    'lists webhook events with status %s by reading a few pages while 100,000 handled ones are kept',
    async (status) => {
      await open.database.query(
        `insert into webhook_event
           (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, processed_at, outcome)
         select 'strava', n, n % 1000, 'activity', n, 'create', now(), '{}', now(), 'applied'
         from generate_series(1, 100000) n`,
      );
      await floodOf(open.database, { vendor: 'whoop', owners: [1, 2, 3], each: 20 });
      await setAside("owner_id = '2'");
      await open.database.query('vacuum analyze webhook_event');
      for (const vendor of ['whoop', null]) {
        const plans = await plansOf(open.database, listStatement(status), [vendor, 0, 51]);
        for (const plan of plans)
          expect(waysInto('webhook_event', plan)).not.toContain('all of webhook_event');
        expect(Math.max(...plans.map(blocksOf))).toBeLessThan(MOST_BLOCKS);
      }
    },
  );
});
