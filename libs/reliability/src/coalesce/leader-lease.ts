import { type Flight, Superseded } from './flight.js';
import { type FlightName, type JoinMode, LEASE_MS, type SharedFlights } from './shared-flights.js';
import { type WakeUps } from './wake-ups.js';

const RENEW_MS = LEASE_MS / 3;

interface LedFlight {
  readonly flight: Flight;
  readonly name: FlightName;
  readonly mode: JoinMode;
}

/**
 * The leader's lease of one flight, renewed every 500 ms. `signal` aborts the work when the flight is superseded, when another
 * process has taken over the lead, or when no caller waits in any process.
 */
export class LeaderLease {
  isTaken = false;
  private readonly stop = new AbortController();
  private readonly renewal: NodeJS.Timeout;
  private readonly stopListening: () => void;
  private readonly onFlightEnd = () => void this.stopUnlessFollowed();

  constructor(
    private readonly led: LedFlight,
    private readonly token: string,
    private readonly shared: SharedFlights,
    wakeUps: WakeUps,
  ) {
    this.renewal = setInterval(() => void this.renew(), RENEW_MS).unref();
    this.stopListening = wakeUps.on(token, () => this.supersede());
    led.flight.signal.addEventListener('abort', this.onFlightEnd, { once: true });
  }

  get signal(): AbortSignal {
    return this.stop.signal;
  }

  end(): void {
    clearInterval(this.renewal);
    this.stopListening();
    this.led.flight.signal.removeEventListener('abort', this.onFlightEnd);
  }

  private async renew(): Promise<void> {
    const { flight, name, mode } = this.led;
    const renewed = await this.shared.renew(name, this.token, mode);
    if (renewed.kind === 'superseded') return this.supersede();
    if (renewed.kind === 'taken') {
      this.isTaken = true;
      this.stop.abort();
      return;
    }
    const isWaitedFor = renewed.kind === 'held' && renewed.othersWaitMs > 0;
    if (flight.signal.aborted && !isWaitedFor) this.stop.abort(flight.signal.reason);
  }

  /** Called when the flight ends. Stops the work of a superseded flight. Otherwise the work goes on while other processes wait for it. */
  private async stopUnlessFollowed(): Promise<void> {
    const { reason } = this.led.flight.signal as { reason: unknown };
    if (reason instanceof Superseded) this.stop.abort(reason);
    else await this.renew();
  }

  private supersede(): void {
    this.led.flight.supersede();
    this.stop.abort(new Superseded());
  }
}
