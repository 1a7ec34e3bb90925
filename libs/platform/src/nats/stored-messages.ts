import {
  AckPolicy,
  DeliverPolicy,
  jetstream,
  type JetStreamManager,
  jetstreamManager,
  type JsMsg,
  type StoredMsg,
} from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import { DependencyUnavailable } from '../errors/app-error.js';
import { natsFailure } from './connect.js';

// A stream without a leader answers nothing. The relay reads the stream before it publishes, so a long timeout would stall it.
const REQUEST_TIMEOUT_MS = 2_000;
const REQUESTS = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
const AT_ONCE = 500;
const EXPIRES_MS = 2_000;
const SILENCE_MS = 6_000;
const CONSUMER_LIVES_MS = 30_000;
const DELETIONS_AT_ONCE = 20;
// The client keeps the time of a delivered message as a number of nanoseconds, which loses the last digits.
export const ROUNDED_MS = 1;

export interface MessageRange {
  readonly stream: string;
  /** One subject; wildcards are allowed. */
  readonly subject: string;
  /** By default the oldest message. */
  readonly from?: { readonly seq: number } | { readonly time: Date };
  /** By default the message that is the newest when the reading begins. */
  readonly upToSeq?: number;
  readonly batchSize?: number;
}

/**
 * Reads the stored messages of a stream, oldest first, in batches: 200,000 messages of 700 bytes a second. It reads through a temporary
 * consumer, which costs a few round trips per batch and also works with NATS 2.9.
 *
 * If a message is lost on the way, it throws DependencyUnavailable. So a reader that reaches the end has seen all messages. It does not
 * resume after an error.
 */
export async function* storedMessages(
  connection: NatsConnection,
  { stream, subject, from, upToSeq, batchSize = AT_ONCE }: MessageRange,
): AsyncGenerator<readonly JsMsg[]> {
  try {
    const manager = await jetstreamManager(connection, REQUESTS);
    const last = upToSeq ?? (await manager.streams.info(stream)).state.last_seq;
    const consumer = await readerOf(manager, stream, subject, from);
    try {
      yield* batchesOf(connection, consumer, last, batchSize);
    } finally {
      // If this deletion fails, the server removes the consumer after 30 s.
      void manager.consumers.delete(stream, consumer.name).catch(() => undefined);
    }
  } catch (error) {
    throw natsFailure(error);
  }
}

/**
 * The time of a stream's newest message, by the clock of NATS. Every stored message is as old or older, and a later one is younger. So it
 * separates the messages from before a deletion from later ones, whatever other clocks say. Undefined if the stream never had a message.
 *
 * Not guaranteed if that clock is set back, or if a server whose clock is behind becomes the stream's leader: such a server dates new messages
 * too early until its clock has caught up.
 */
export async function newestMessageAt(connection: NatsConnection, stream: string): Promise<Date | undefined> {
  try {
    const manager = await jetstreamManager(connection, REQUESTS);
    const { last_seq, last_ts } = (await manager.streams.info(stream)).state;
    return last_seq > 0 ? new Date(Date.parse(last_ts) + ROUNDED_MS) : undefined;
  } catch (error) {
    throw natsFailure(error);
  }
}

/**
 * Deletes messages by sequence, overwrites their bytes, and returns how many existed. It deletes 3,000 messages a second. With `isWanted`,
 * it reads each message first and spares those that are not wanted: after a restore of the stream, a sequence may name another message.
 */
export async function deleteMessages(
  connection: NatsConnection,
  stream: string,
  seqs: readonly number[],
  isWanted?: (message: StoredMsg) => boolean,
): Promise<number> {
  const manager = await jetstreamManager(connection, REQUESTS);
  const left = [...seqs];
  let deleted = 0;
  const isToDelete = async (seq: number) => {
    if (!isWanted) return true;
    const message = await manager.streams.getMessage(stream, { seq }).catch((error: unknown) => {
      throw natsFailure(error);
    });
    return message !== null && isWanted(message);
  };
  const deleteSome = async () => {
    for (let seq = left.pop(); seq !== undefined; seq = left.pop())
      if ((await isToDelete(seq)) && (await deleteMessage(manager, stream, seq))) deleted += 1;
  };
  await Promise.all(Array.from({ length: DELETIONS_AT_ONCE }, deleteSome));
  return deleted;
}

/** Returns false if the message was already deleted or had expired. */
async function deleteMessage(manager: JetStreamManager, stream: string, seq: number): Promise<boolean> {
  try {
    return await manager.streams.deleteMessage(stream, seq);
  } catch (error) {
    const failure = natsFailure(error);
    // The error text for a missing message differs between server versions.
    if (failure instanceof DependencyUnavailable || (await manager.streams.getMessage(stream, { seq })))
      throw failure;
    return false;
  }
}

function readerOf(manager: JetStreamManager, stream: string, subject: string, from: MessageRange['from']) {
  const start = !from
    ? { deliver_policy: DeliverPolicy.All }
    : 'seq' in from
      ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from.seq }
      : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: from.time.toISOString() };
  return manager.consumers.add(stream, {
    ...start,
    filter_subject: subject,
    ack_policy: AckPolicy.None,
    mem_storage: true,
    inactive_threshold: nanos(CONSUMER_LIVES_MS),
  });
}

async function* batchesOf(
  connection: NatsConnection,
  { stream_name, name, num_pending }: { stream_name: string; name: string; num_pending: number },
  last: number,
  atOnce: number,
): AsyncGenerator<readonly JsMsg[]> {
  const consumer = await jetstream(connection, REQUESTS).consumers.get(stream_name, name);
  let pending = num_pending;
  let delivered = 0;
  while (pending > 0) {
    const batch: JsMsg[] = [];
    const fetched = await consumer.fetch({
      // If a request asks for more messages than there are, the server waits for new messages.
      max_messages: Math.min(atOnce, pending),
      expires: EXPIRES_MS,
    });
    // A frozen server sends neither messages nor the end of the request.
    const silence = setTimeout(() => void fetched.close(), SILENCE_MS);
    try {
      for await (const message of fetched) batch.push(message);
    } finally {
      clearTimeout(silence);
    }
    for (const { info } of batch) {
      delivered += 1;
      // This consumer has no acknowledgements, so NATS does not send a lost message again.
      if (info.deliverySequence !== delivered) throw new DependencyUnavailable('nats');
    }
    const wanted = batch.filter(({ seq }) => seq <= last);
    if (wanted.length > 0) yield wanted;
    const newest = batch.at(-1);
    if (newest && newest.seq >= last) return;
    // The remaining messages may have been deleted meanwhile.
    pending = newest ? newest.info.pending : (await consumer.info()).num_pending;
    if (!newest && pending > 0) throw new DependencyUnavailable('nats');
  }
}
