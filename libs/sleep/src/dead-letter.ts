import { type DeadLetters, type DeliveredMessage, DependencyUnavailable } from '#platform';

export interface Refusal {
  readonly prefix: string;
  readonly reason: 'schema-invalid' | 'non-retryable' | 'max-deliver';
  readonly error: string;
  /** Delay of the next delivery if the stream does not take the dead letter. */
  readonly retryMs: number;
  readonly onNotStored: (err: unknown) => void;
}

/** The time at which the stream got the message. */
export const storedAt = ({ info }: DeliveredMessage) => new Date(info.timestampNanos / 1e6);

/**
 * Stores a message as a dead letter and ends its delivery. False if the stream does not take the dead letter. The server then delivers
 * the message again. After the last delivery the server sends an advisory, whose consumer stores the dead letter. Throws
 * DependencyUnavailable.
 */
export async function deadLetter(
  letters: DeadLetters,
  message: DeliveredMessage,
  { prefix, reason, error, retryMs, onNotStored }: Refusal,
): Promise<boolean> {
  const { info, subject, data: bytes, headers } = message;
  const failed = {
    stream: info.stream,
    durable: info.consumer,
    seq: info.streamSequence,
    subject,
    bytes,
    headers,
    receivedAt: storedAt(message),
  };
  try {
    await letters.add(prefix, failed, { reason, error, attempts: info.deliveryCount });
  } catch (err) {
    if (err instanceof DependencyUnavailable) throw err;
    onNotStored(err);
    message.nak(retryMs);
    return false;
  }
  message.term();
  return true;
}
