import { setTimeout as pause } from 'node:timers/promises';
import { AckPolicy, jetstreamManager, type StoredMsg } from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { type Logger } from '../logging/logger.js';
import { BatchConsumer, type Consumption } from './batch-consumer.js';
import { type DeadLetters } from './dead-letters.js';
import { natsFailure } from './connect.js';
import { type DeliveredMessage, type Delivery } from './delivery.js';
import { ignoreAbort } from './outage-hold.js';
import { ADVISORIES } from './streams.js';
import { decodeOrMalformed, MessageMalformed, type Subject } from './subject.js';

const schema = z.object({
  stream: z.string(),
  consumer: z.string(),
  stream_seq: z.int(),
  deliveries: z.int(),
});
type Advisory = z.output<typeof schema>;

const LOOK_EVERY_MS = 5_000;
// The shortest pull. The other consumer pulls nothing meanwhile.
const EXPIRES_MS = 1_000;
const ACK_WAIT_MS = 30_000;
// Two trials, because a worker may also die for another reason.
const MOST_TRIALS = 2;

/** The name of the durable that tries the messages of another durable alone. */
export const undeliveredDurable = (durable: string) => `${durable}-undelivered`;

interface UndeliveredOptions<T> {
  readonly consumption: Consumption<T>;
  /** The consumer of the same messages in this process. */
  readonly beside: Pick<BatchConsumer<T>, 'whileIdle'>;
  /** False during an outage of a server that the handler needs. No trial begins then: a stop of the process would use up the trial. */
  readonly isReady: () => Promise<boolean>;
  /** Prefix of the dead letters' subjects. */
  readonly prefix: string;
  readonly onDeadLetter: (seq: number) => void;
}

/**
 * Handles messages whose worker died at every delivery. Such a worker settles no message of its batch. The server reports each message
 * in an advisory, and a stream stores the advisories.
 *
 * This consumer tries each of these messages again, alone. Over all workers, it tries one message at a time. During a trial and before
 * it, the process holds no other message: an advisory is pulled only once `beside` is idle. Otherwise another message that kills its worker
 * would use up the trials. So only a message that kills its worker by itself becomes a dead letter.
 *
 * Not guaranteed: if the worker is killed twice during the trials of a message for another reason, the message becomes a dead letter, too.
 * The same holds for a worker that is stopped while an outage holds a trial, so no trial begins during an outage.
 *
 * | a worker dies        | what happens                                            |
 * | -------------------- | ------------------------------------------------------- |
 * | at each delivery     | the advisory, at the latest `ack_wait` after the last   |
 * | at the first trial   | a second trial, 30 s later                              |
 * | at the second trial  | dead letter `max-deliver`, another 30 s later           |
 */
export function undeliveredConsumer<T>(
  connection: NatsConnection,
  letters: DeadLetters,
  logger: Logger,
  { consumption, beside, isReady, prefix, onDeadLetter }: UndeliveredOptions<T>,
): BatchConsumer<Advisory> {
  const { stream } = consumption;
  const durable = consumption.consumer.durable_name;
  const subject: Subject<Advisory> = {
    name: `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${stream}.${durable}`,
    schema,
  };

  const tryAlone = async ({ message, content }: Delivery<Advisory>): Promise<void> => {
    // Only the server publishes advisories. A malformed advisory means that a newer server uses another format.
    if (content instanceof MessageMalformed) return message.term();
    const undelivered = await storedAt(connection, stream, content.stream_seq);
    // The message has expired or was deleted.
    if (!undelivered) return message.ack();
    if (message.info.deliveryCount > MOST_TRIALS) {
      await deadLetter(undelivered, content.deliveries);
      return message.ack();
    }
    const alone = aloneDelivery(undelivered, content, message);
    await consumption.handle([
      { message: alone, content: decodeOrMalformed(consumption.subject, undelivered.string()) },
    ]);
  };

  const deadLetter = async (undelivered: StoredMsg, attempts: number): Promise<void> => {
    const { seq, subject: from, data: bytes, header: headers, time: receivedAt } = undelivered;
    const dead = { stream, durable, seq, subject: from, bytes, headers, receivedAt };
    const error = 'its worker died at every delivery, and when it was tried alone';
    await letters.add(prefix, dead, { reason: 'max-deliver', error, attempts });
    onDeadLetter(seq);
  };

  return new BatchConsumer<Advisory>(
    connection,
    {
      stream: ADVISORIES,
      consumer: {
        durable_name: undeliveredDurable(durable),
        filter_subject: subject.name,
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(ACK_WAIT_MS),
        // The server delivers no further advisory before this one is settled.
        max_ack_pending: 1,
      },
      subject,
      batchSize: 1,
      expiresMs: EXPIRES_MS,
      handle: async (batch) => {
        for (const delivery of batch) await tryAlone(delivery);
      },
      turns: async (turn) => {
        const tryAll = async () => {
          while ((await turn.take()) > 0 && !turn.stopping.aborted);
        };
        if ((await turn.hasMessages()) && (await isReady())) await beside.whileIdle(tryAll);
        await pause(LOOK_EVERY_MS, undefined, { signal: turn.stopping }).catch(ignoreAbort);
      },
    },
    logger,
  );
}

async function storedAt(
  connection: NatsConnection,
  stream: string,
  seq: number,
): Promise<StoredMsg | undefined> {
  try {
    const { streams } = await jetstreamManager(connection);
    return (await streams.getMessage(stream, { seq })) ?? undefined;
  } catch (error) {
    throw natsFailure(error);
  }
}

/** Presents the message as the last delivery of its consumer. Settling this delivery settles the advisory. */
function aloneDelivery(
  { subject, data, header: headers, seq, time }: StoredMsg,
  { stream, consumer, deliveries }: Advisory,
  advisory: DeliveredMessage,
): DeliveredMessage {
  return {
    subject,
    data,
    headers,
    redelivered: true,
    info: {
      stream,
      consumer,
      streamSequence: seq,
      deliverySequence: advisory.info.deliverySequence,
      deliveryCount: deliveries,
      timestampNanos: time.getTime() * 1e6,
    },
    ack: () => advisory.ack(),
    nak: (delayMs) => advisory.nak(delayMs),
    // A handler calls `term` after it has stored the message as a dead letter.
    term: () => advisory.ack(),
  };
}
