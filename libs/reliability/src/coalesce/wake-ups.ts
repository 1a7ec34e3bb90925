import { type Redis } from 'ioredis';
import { type Logger } from '#platform';

export type Word = 'ended' | 'superseded';
type Listener = (word: Word) => void;

/**
 * What becomes of flights in other processes, heard at once. A word that is lost costs those who wait for it the time until
 * they look by themselves.
 */
export class WakeUps {
  private readonly listeners = new Map<string, Set<Listener>>();

  /** A connection that does nothing but listen. */
  constructor(
    private readonly ears: Redis,
    readonly channel: string,
    private readonly logger: Logger,
  ) {
    ears.on('message', (_channel: string, message: string) => this.hear(message));
    ears.on('ready', () => this.subscribe());
    if (ears.status === 'ready') this.subscribe();
  }

  get size(): number {
    return this.listeners.size;
  }

  /** The answer ends the listening. */
  on(token: string, listener: Listener): () => void {
    const listening = this.listeners.get(token) ?? new Set();
    this.listeners.set(token, listening.add(listener));
    return () => {
      listening.delete(listener);
      if (listening.size === 0) this.listeners.delete(token);
    };
  }

  private subscribe(): void {
    this.ears
      .subscribe(this.channel)
      .catch((err: unknown) => this.logger.warn({ err }, 'not woken by other processes for now'));
  }

  private hear(message: string): void {
    const [token = '', word] = message.split(' ');
    for (const listener of [...(this.listeners.get(token) ?? [])]) listener(word as Word);
  }
}
