import { AckPolicy, DeliverPolicy, type JetStreamManager, type StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';

const CONSUMER_LIVES_MS = 5_000;

/**
 * The time in ms, by the clock of the server that leads the stream. A server from 2.10 on names it whenever it describes a stream. An older
 * server names only the time at which it creates a consumer, so a short-lived consumer is created.
 */
export async function timeOfNats(manager: JetStreamManager, stream: string): Promise<number> {
  const { ts }: StreamInfo & { readonly ts?: string } = await manager.streams.info(stream);
  if (ts !== undefined) return Date.parse(ts);
  const { name, created } = await manager.consumers.add(stream, {
    deliver_policy: DeliverPolicy.New,
    ack_policy: AckPolicy.None,
    mem_storage: true,
    inactive_threshold: nanos(CONSUMER_LIVES_MS),
  });
  // If this deletion fails, the server removes the consumer after 5 s.
  void manager.consumers.delete(stream, name).catch(() => undefined);
  return Date.parse(created);
}
