import { type Logger, type RedisClient } from '#platform';

type FlightEvent = 'ended' | 'superseded';
type Listener = (event: FlightEvent) => void;

/**
 * Uses Redis pub/sub to tell callers at once when a flight of another process ends or is superseded. Messages may be lost, so
 * callers also poll every 100 ms.
 */
export class WakeUps {
  private readonly listeners = new Map<string, Set<Listener>>();

  /** `subscriber`: a connection used only for subscribing. */
  constructor(
    private readonly subscriber: RedisClient,
    readonly channel: string,
    private readonly logger: Logger,
  ) {
    subscriber.on('message', (_channel: string, message: string) => this.dispatch(message));
    subscriber.on('ready', () => this.subscribe());
    if (subscriber.status === 'ready') this.subscribe();
  }

  get size(): number {
    return this.listeners.size;
  }

  /** Calls `listener` for events of the flight with that token. Returns a function that removes the listener. */
  on(token: string, listener: Listener): () => void {
    const listening = this.listeners.get(token) ?? new Set();
    this.listeners.set(token, listening.add(listener));
    return () => {
      listening.delete(listener);
      if (listening.size === 0) this.listeners.delete(token);
    };
  }

  private subscribe(): void {
    this.subscriber
      .subscribe(this.channel)
      .catch((err: unknown) =>
        this.logger.warn({ err }, 'not subscribed to flights of other processes: they are polled'),
      );
  }

  private dispatch(message: string): void {
    const [token = '', event] = message.split(' ');
    for (const listener of [...(this.listeners.get(token) ?? [])]) listener(event as FlightEvent);
  }
}
