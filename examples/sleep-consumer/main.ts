import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

// Prints advice for each night: node dist/examples/sleep-consumer/main.js, with NATS_URL. After a kill and a new start it continues
// where it was, because the durable consumer on the server remembers which messages were acknowledged.
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

// The client takes only host and port from a URL, so user and password are passed separately.
const { host, username, password } = new URL(process.env.NATS_URL ?? 'nats://127.0.0.1:4222');
const login = username ? { user: username, pass: password } : {};
const connection = await connect({ servers: host, ...login, maxReconnectAttempts: -1 });
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
  // After the work: a process that is killed before this gets the night again. No night is missed, and one may come twice.
  message.ack();
}
await connection.close();
