import { randomUUID } from 'node:crypto';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { CORE_STREAM } from '#platform';
import { eventually } from '../../harness/eventually.js';
import { type Random } from '../random.js';
import { nonsense, nonsenseText } from './values.js';

const RAW = 'athlete-ally.sleep.raw-received';
const DURABLE = 'normalize-sleep-durable';
const ADVISORY = `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${CORE_STREAM}.${DURABLE}`;
const SETTLED_MS = 180_000;
const HEADERS = ['traceparent', 'tracestate', 'received-at', 'x-request-id'];

/** Messages on the subjects that the product consumes: nights, and the server's advisories about them. */
export async function sendMessages(connection: NatsConnection, count: number, random: Random): Promise<void> {
  const js = jetstream(connection);
  for (let sent = 0; sent < count; sent += 1) {
    if (random.chance(0.1)) connection.publish(ADVISORY, JSON.stringify(advisory(random)));
    else await js.publish(RAW, payload(random), { msgID: randomUUID(), headers: someHeaders(random) });
  }
  await connection.flush();
}

/** Resolves when every message is stored or a dead letter, so no message blocks those behind it. */
export async function allSettled(connection: NatsConnection): Promise<void> {
  const manager = await jetstreamManager(connection);
  await eventually(
    'each message is stored or a dead letter',
    async () => {
      const { num_pending, num_ack_pending } = await manager.consumers.info(CORE_STREAM, DURABLE);
      return num_pending + num_ack_pending === 0;
    },
    SETTLED_MS,
  );
}

function payload(random: Random): string | Uint8Array {
  if (random.chance(0.1)) return Uint8Array.from({ length: 200 }, () => random.below(256));
  if (random.chance(0.05)) return JSON.stringify({ eventId: 'large', payload: 'a'.repeat(900_000) });
  if (random.chance(0.05)) return `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
  const night: Record<string, unknown> = {
    userId: `fuzzed-${random.below(20)}`,
    date: '2026-01-02',
    durationMinutes: 400,
    qualityScore: 80,
    capturedAt: '2026-01-02T08:00:00Z',
    raw: { nested: [1, 2, 3] },
    record: { vendor: 'oura', id: 'x', revision: 1, nap: false, state: 'scored' },
  };
  for (const name of Object.keys(night)) {
    if (random.chance(0.2)) night[name] = nonsense(random);
    if (random.chance(0.1)) delete night[name];
  }
  const message: Record<string, unknown> = { eventId: randomUUID(), payload: night };
  if (random.chance(0.1))
    message[random.pick(['eventId', 'payload', nonsenseText(random)])] = nonsense(random);
  return JSON.stringify(message);
}

function advisory(random: Random): unknown {
  const stream_seq = random.chance(0.5) ? random.below(1_000) : nonsense(random);
  return random.pick([
    nonsense(random),
    { stream: CORE_STREAM, consumer: DURABLE, stream_seq, deliveries: 5 },
  ]);
}

function someHeaders(random: Random): MsgHdrs | undefined {
  if (random.chance(0.6)) return undefined;
  const made = headers();
  const value = nonsenseText(random).replace(/[\r\n]/g, '');
  made.append(random.pick(HEADERS), value);
  return made;
}
