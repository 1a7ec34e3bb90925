import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

// Says good morning to whoever slept badly: node dist/examples/sleep-consumer/main.js, with NATS_URL. Kill it, start it again:
// it goes on where it was, since the durable consumer on the server remembers what has been acknowledged.
const STREAM = 'AA_CORE_HOT';
const CONSUMER = process.env.CONSUMER ?? 'sleep-example';

interface NormalizedStored {
  readonly record: {
    readonly userId: string;
    readonly date: string;
    readonly durationMinutes: number;
    readonly qualityScore?: number;
  };
}

const connection = await connect({ servers: process.env.NATS_URL, maxReconnectAttempts: -1 });
const manager = await jetstreamManager(connection);
await manager.consumers.add(STREAM, {
  durable_name: CONSUMER,
  filter_subject: 'athlete-ally.sleep.normalized-stored',
  ack_policy: AckPolicy.Explicit,
});
const consumer = await jetstream(connection).consumers.get(STREAM, CONSUMER);
const messages = await consumer.consume();
process.once('SIGTERM', () => void messages.close());

for await (const message of messages) {
  const { record } = message.json<NormalizedStored>();
  const isRested = (record.qualityScore ?? 100) >= 70 && record.durationMinutes >= 7 * 60;
  console.log(JSON.stringify({ ...record, advice: isRested ? 'train as planned' : 'take it easy' }));
  // Only now: what is killed before this gets the night again, so a night is never missed and may be told twice.
  message.ack();
}
await connection.close();
