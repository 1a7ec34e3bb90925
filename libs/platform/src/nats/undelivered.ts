import { AckPolicy, jetstreamManager } from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { type Logger } from '../logging/logger.js';
import { BatchConsumer, type Delivery } from './batch-consumer.js';
import { type DeadLetters } from './dead-letters.js';
import { ADVISORIES } from './streams.js';
import { MessageMalformed, type Subject } from './subject.js';

const schema = z.object({
  stream: z.string(),
  consumer: z.string(),
  stream_seq: z.int(),
  deliveries: z.int(),
});
type Advisory = z.output<typeof schema>;

const BATCH = 100;
const EXPIRES_MS = 5_000;
const RETRY_MS = 5_000;
const ACK_WAIT_MS = 30_000;

export interface Abandoned {
  readonly stream: string;
  readonly durable: string;
  /** Of the dead letters' subjects. */
  readonly prefix: string;
  readonly onBuried: (seq: number) => void;
}

/**
 * The net below a consumer: a message that killed its worker at every delivery was settled by nobody. The server says so in an
 * advisory, which a stream has kept; here it becomes a dead letter.
 */
export function buryUndelivered(
  connection: NatsConnection,
  letters: DeadLetters,
  logger: Logger,
  { stream, durable, prefix, onBuried }: Abandoned,
): BatchConsumer<Advisory> {
  const subject: Subject<Advisory> = {
    name: `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${stream}.${durable}`,
    schema,
  };

  const bury = async ({ message, content }: Delivery<Advisory>): Promise<void> => {
    // Only the server speaks here, so this is one of a version that we do not know yet.
    if (content instanceof MessageMalformed) return message.term();
    const { streams } = await jetstreamManager(connection);
    const dead = await streams.getMessage(stream, { seq: content.stream_seq });
    // Older than the stream's retention, or deleted by an operator.
    if (!dead) return message.ack();
    const { subject: from, data: bytes, header, time } = dead;
    await letters.bury(
      prefix,
      { stream, durable, seq: dead.seq, subject: from, bytes, headers: header, receivedAt: time },
      {
        reason: 'max-deliver',
        error: 'delivered as often as allowed, and never settled',
        attempts: content.deliveries,
      },
    );
    onBuried(dead.seq);
    message.ack();
  };

  return new BatchConsumer<Advisory>(
    connection,
    {
      stream: ADVISORIES,
      consumer: {
        durable_name: `${durable}-undelivered`,
        filter_subject: subject.name,
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(ACK_WAIT_MS),
      },
      subject,
      batchSize: BATCH,
      expiresMs: EXPIRES_MS,
      handle: async (batch) => {
        for (const delivery of batch)
          await bury(delivery).catch((err: unknown) => {
            logger.warn({ err, durable }, 'undelivered message not buried yet');
            delivery.message.nak(RETRY_MS);
          });
      },
    },
    logger,
  );
}
