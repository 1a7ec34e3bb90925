import { AckPolicy, jetstream, jetstreamManager, type JsMsg } from '@nats-io/jetstream';
import pg from 'pg';
import { connectNats } from '../libs/platform/src/nats/connect.js';

// Measures the upper bound of the normaliser: consume, upsert, publish and ack in batches. This has one table, no validation and no check
// for newer data.
const BATCH = 1_000;
const UPSERT = `
  insert into bare_sleep as kept (user_id, date, duration_minutes, captured_at, event_id)
  select * from unnest($1::text[], $2::date[], $3::int[], $4::timestamptz[], $5::text[])
  on conflict (user_id, date) do update
  set duration_minutes = excluded.duration_minutes, captured_at = excluded.captured_at, event_id = excluded.event_id
  where kept.captured_at < excluded.captured_at`;

interface Raw {
  readonly eventId: string;
  readonly payload: {
    readonly userId: string;
    readonly date: string;
    readonly durationMinutes: number;
    readonly capturedAt: string;
  };
}

const connection = await connectNats(process.env.NATS_URL ?? '', 'bench');
const database = new pg.Client({ connectionString: process.env.DATABASE_URL });
await database.connect();
const js = jetstream(connection);
const manager = await jetstreamManager(connection);
await manager.consumers.add('BARE', {
  durable_name: 'bare',
  filter_subject: 'bare.raw',
  ack_policy: AckPolicy.Explicit,
  max_ack_pending: 20_000,
});
const consumer = await js.consumers.get('BARE', 'bare');
console.log(JSON.stringify({ msg: 'ready', urls: ['none'] }));

let running = true;
process.once('SIGTERM', () => (running = false));
while (running) {
  const batch: Array<{ message: JsMsg; said: Raw }> = [];
  for await (const message of await consumer.fetch({ max_messages: BATCH, expires: 1_000 }))
    batch.push({ message, said: message.json<Raw>() });
  if (batch.length === 0) continue;
  await database.query({
    name: 'upsert',
    text: UPSERT,
    values: [
      batch.map(({ said }) => said.payload.userId),
      batch.map(({ said }) => said.payload.date),
      batch.map(({ said }) => said.payload.durationMinutes),
      batch.map(({ said }) => said.payload.capturedAt),
      batch.map(({ said }) => said.eventId),
    ],
  });
  await Promise.all(
    batch.map(({ said }) =>
      js.publish('bare.stored', JSON.stringify({ record: said.payload }), { msgID: `bare:${said.eventId}` }),
    ),
  );
  for (const { message } of batch) message.ack();
}
await Promise.all([connection.close(), database.end()]);
