/** The app's own clock, for what no server has to agree on. Leases use Postgres' clock and budgets use Redis'. */
export abstract class Clock {
  abstract nowMs(): number;
}

export class SystemClock extends Clock {
  override nowMs(): number {
    return Date.now();
  }
}
