/** At most `max` objects. Each is made when it is first needed. One caller at a time uses an object. */
export class Pool<T> {
  private readonly made: Array<Promise<T>> = [];
  private readonly free: T[] = [];
  private readonly waiting: Array<(one: T | PromiseLike<T>) => void> = [];

  constructor(
    private readonly max: number,
    private readonly make: () => Promise<T>,
  ) {}

  async use<R>(work: (one: T) => Promise<R>): Promise<R> {
    const one = await this.take();
    try {
      return await work(one);
    } finally {
      this.giveBack(one);
    }
  }

  async close(end: (one: T) => Promise<void>): Promise<void> {
    await Promise.all(this.made.map(async (one) => end(await one)));
  }

  private take(): Promise<T> | T {
    const free = this.free.pop();
    if (free) return free;
    if (this.made.length === this.max) return new Promise((resolve) => this.waiting.push(resolve));
    const one = this.make();
    this.made.push(one);
    one.catch(() => {
      // The caller gets the error. A waiting caller makes an object of its own; otherwise it would wait until its test times out.
      void this.made.splice(this.made.indexOf(one), 1);
      this.waiting.shift()?.(this.take());
    });
    return one;
  }

  private giveBack(one: T): void {
    const next = this.waiting.shift();
    if (next) next(one);
    else this.free.push(one);
  }
}
