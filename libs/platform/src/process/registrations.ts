import { type Logger } from '../logging/logger.js';

/**
 * The one implementation of an interface that a lib declares and a lib above it, or the app, has. A module registers it in its constructor
 * or in `onModuleInit`. The lib reads it from `onApplicationBootstrap` on, so that the start fails if it is missing or doubled.
 */
export class Registration<T> {
  private registered: { readonly value: T } | undefined;

  /** `what` names the interface in the sentences of errors. */
  constructor(private readonly what: string) {}

  /** Throws if there is one already. */
  register(value: T): void {
    if (this.registered) throw new Error(`A second ${this.what} is registered, but a process has one`);
    this.registered = { value };
  }

  /** Undefined if none is registered. */
  get(): T | undefined {
    return this.registered?.value;
  }

  required(): T {
    if (!this.registered) throw new Error(`No ${this.what} is registered`);
    return this.registered.value;
  }
}

/**
 * The listeners to events within this process; modules register them as they register a `Registration`. A listener that cannot be made or
 * registered stops the start. A call that fails later is logged and not repeated. Not guaranteed: a process that dies calls no listener.
 */
export abstract class Listeners<Listener extends object> {
  private readonly registered = new Set<Listener>();

  /** `kind` names the listeners in log lines and errors: `a ${kind} failed`. */
  protected constructor(
    private readonly kind: string,
    private readonly logger: Logger,
  ) {}

  /** Throws if this listener is registered already: it would be called twice. */
  register(listener: Listener): void {
    if (this.registered.has(listener)) throw new Error(`The same ${this.kind} is registered twice`);
    this.registered.add(listener);
  }

  protected assertAny(): void {
    if (this.registered.size === 0) throw new Error(`No ${this.kind} is registered`);
  }

  /** Never rejects. */
  protected async callAll(call: (listener: Listener) => Promise<unknown>): Promise<void> {
    const results = await Promise.allSettled([...this.registered].map(async (listener) => call(listener)));
    for (const result of results)
      if (result.status === 'rejected')
        this.logger.error({ err: result.reason as unknown }, `a ${this.kind} failed`);
  }
}
