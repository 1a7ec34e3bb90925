const SECOND_MS = 1_000;
const MOST_FAILURES = 8;
const FIRST_PAUSE_MS = 5 * SECOND_MS;
const LONGEST_PAUSE_MS = 300 * SECOND_MS;
const MOST_IN_FLIGHT = 8;

/**
 * The circuit breaker of an endpoint while a worker holds it. After 8 failures in a row the endpoint gets no attempts for a pause. Then one
 * attempt is the probe: its success closes the circuit, its failure doubles the pause.
 *
 * | failures in a row | 8   | 9    | 10   | 11   | 12   | 13    | 14 and more |
 * | ----------------- | --- | ---- | ---- | ---- | ---- | ----- | ----------- |
 * | pause             | 5 s | 10 s | 20 s | 40 s | 80 s | 160 s | 5 min each  |
 */
export class Circuit {
  hasSucceeded = false;
  private mayProbe: boolean;

  /** `failures`: failures in a row, as the worker before has left them. */
  constructor(private count: number) {
    this.mayProbe = count >= MOST_FAILURES;
  }

  get failures(): number {
    return this.count;
  }

  /** The number of attempts that may be in flight. */
  get slots(): number {
    if (this.count < MOST_FAILURES) return MOST_IN_FLIGHT;
    return this.mayProbe ? 1 : 0;
  }

  /** Real time. 0: the circuit is closed. */
  get pauseMs(): number {
    if (this.count < MOST_FAILURES) return 0;
    return Math.min(FIRST_PAUSE_MS * 2 ** (this.count - MOST_FAILURES), LONGEST_PAUSE_MS);
  }

  succeeded(): void {
    this.count = 0;
    this.mayProbe = false;
    this.hasSucceeded = true;
  }

  failed(): void {
    // Attempts that were in flight when the circuit opened must not lengthen the first pause.
    if (this.count < MOST_FAILURES || this.mayProbe) this.count += 1;
    this.mayProbe = false;
  }
}
