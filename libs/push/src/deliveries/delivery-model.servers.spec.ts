import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Vault } from '#connections';
import { Changes, createLogger, timeScale, Worker } from '#platform';
import { modelRuns } from '../../../../test/harness/model-runs.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { answers, Receiver } from '../../../../test/harness/webhook-receiver.js';
import { WebhookEndpoints } from '../endpoints/webhook-endpoints.js';
import { EndpointDeliveries } from './deliveries.js';
import { DeliveryPlanner } from './delivery-planner.js';
import { DeliveryQueue } from './delivery-queue.js';
import { EndpointCaller } from './endpoint-caller.js';
import { EndpointWork } from './endpoint-work.js';

const MOST_ATTEMPTS = 10;
const FAILURES_THAT_PAUSE = 8;
const logger = createLogger({ level: 'silent', process: 'test' });
const real = timeScale(1);

interface Model {
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  isDue: boolean;
  isActive: boolean;
  failures: number;
  isPaused: boolean;
  isErased: boolean;
  requests: number;
}

const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      status: fc.constantFrom(200, 301, 500, 500, 500, 410),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('time passes' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('redeliver' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('replay' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('plan again' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('enable' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('disable' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('a worker dies' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const) }) },
);

describe('a delivery', () => {
  let open: OpenDatabase;
  let receiver: Receiver;
  let caller: EndpointCaller;
  const vault = new Vault([{ version: 1, key: Buffer.alloc(32, 7) }]);
  beforeAll(async () => {
    open = await openTestDatabase();
    receiver = await Receiver.start();
    caller = new EndpointCaller({ attemptMs: 60_000, allowPrivate: true });
  });
  afterAll(async () => {
    await receiver.stop();
    await caller.close();
    await open.close();
  });

  it('a delivery follows the model of its states for any order of answers, orders, kills and erasures, always under one webhook-id (model)', async () => {
    const sql = open.database;
    const endpoints = new WebhookEndpoints(sql, vault, real, { allowPrivate: true });
    const changes = new Changes(sql);
    const deliveries = new EndpointDeliveries(sql, changes);
    const planner = new DeliveryPlanner(sql, real, logger, () => undefined);
    const queue = new DeliveryQueue(sql, 5 * 86_400_000);
    const sender = new Worker(new EndpointWork(queue, caller, vault, real, logger), real, logger);

    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 50 }), async (steps) => {
        await sql.query('truncate change, change_outbox, webhook_endpoint, webhook_delivery, webhook_replay');
        receiver.received.length = 0;
        const { id } = await endpoints.create({ url: receiver.url, types: ['*'] });
        const athleteId = randomUUID();
        await changes.record(sql, { type: 'import.completed', athleteId, subjectId: '1', data: {} });
        await changes.sequence();
        await planner.drain();
        const model: Model = {
          status: 'pending',
          attempts: 0,
          isDue: true,
          isActive: true,
          failures: 0,
          isPaused: false,
          isErased: false,
          requests: 0,
        };
        const isSent = () => model.isActive && model.isDue && model.status === 'pending' && !model.isPaused;

        for (const one of steps) {
          switch (one.kind) {
            case 'send':
              receiver.answer = answers(one.status);
              await sender.drain();
              if (isSent()) applySend(model, one.status);
              break;
            case 'time passes':
              await sql.query(`update webhook_delivery set next_attempt_at = now() where status = 'pending'`);
              await sql.query('update webhook_endpoint set paused_until = null');
              model.isDue = true;
              model.isPaused = false;
              break;
            case 'redeliver': {
              const [first] = (await deliveries.list(id, { limit: 1 })).items;
              const redelivered = deliveries.redeliver(id, Number(first?.id));
              if (!model.isActive) {
                await expect(redelivered).rejects.toMatchObject({ code: 'ENDPOINT_DISABLED' });
                break;
              }
              await redelivered;
              Object.assign(model, { status: 'pending', attempts: 0, isDue: true });
              break;
            }
            case 'replay':
              await deliveries.replay(id, new Date(0), undefined);
              await planner.drain();
              if (model.isErased) break;
              if (model.status !== 'pending') model.attempts = 0;
              Object.assign(model, { status: 'pending', isDue: true });
              break;
            case 'plan again':
              await sql.query('update delivery_plan set planned_seq = 0');
              await planner.drain();
              break;
            case 'enable':
              await endpoints.change(id, { status: 'active' });
              Object.assign(model, { isActive: true, failures: 0, isPaused: false });
              break;
            case 'disable':
              await endpoints.change(id, { status: 'disabled' });
              model.isActive = false;
              break;
            case 'a worker dies': {
              const claim = await queue.claim(60_000);
              expect(claim !== undefined).toBe(isSent());
              await sql.query(`update webhook_endpoint set leased_until = now() - interval '1 second'`);
              break;
            }
            case 'erase':
              await sql.query(`update change set type = 'erased', data = null`);
              model.isErased = true;
          }
          const { items } = await deliveries.list(id, { limit: 10 });
          expect(items).toMatchObject([{ status: model.status, attempts: model.attempts }]);
          expect(await endpoints.find(id)).toMatchObject({ status: model.isActive ? 'active' : 'disabled' });
          expect(receiver.received).toHaveLength(model.requests);
          expect(new Set(receiver.ids).size).toBeLessThanOrEqual(1);
        }
      }),
      modelRuns(100),
    );
  });
});

function applySend(model: Model, status: number): void {
  if (model.isErased) {
    model.status = 'failed';
    return;
  }
  model.requests += 1;
  model.attempts += 1;
  if (status === 200) {
    Object.assign(model, { status: 'delivered', failures: 0 });
    return;
  }
  model.failures += 1;
  model.isDue = false;
  model.isPaused = model.failures >= FAILURES_THAT_PAUSE;
  if (model.attempts >= MOST_ATTEMPTS) model.status = 'failed';
  if (status === 410) model.isActive = false;
}
