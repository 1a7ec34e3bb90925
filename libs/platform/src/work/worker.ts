import { Counter } from 'prom-client';
import { type TimeScale } from '../clock/clock.js';
import { DependencyUnavailable } from '../errors/app-error.js';
import { type Logger } from '../logging/logger.js';
import { Loop } from '../process/loop.js';
import { ClaimLost } from './fence.js';
import { KeptLease, leaseLength } from './lease.js';

const attempts = new Counter({
  name: 'work_attempts_total',
  help: 'Attempts of background work, by how they ended',
  labelNames: ['work', 'result'],
});

const UNHEALTHY_AFTER_MS = 60_000;
// A lane behind an idle one only waits to be woken.
const IDLE_LANE_MS = 60_000;

/** How an attempt ended. `kind` is the label `result` of `work_attempts_total`. */
export interface Outcome {
  readonly kind: string;
  /** The reason may concern all rows: the lane claims the next one only after its pause. */
  readonly pauses?: boolean;
  /** The reason is over after this time, so the pause lasts no longer. */
  readonly overInMs?: number;
}

/** The lease of a run, as the run sees it. */
export interface Held {
  /** Aborts when the lease is lost: nothing that the run writes would be accepted. */
  readonly signal: AbortSignal;
  /** True once the process stops: the run ends after its present step, and other workers continue. */
  readonly isStopping: () => boolean;
}

/** Background work of a feature, as it declares it to a `Worker`. The feature's rows say what is due; all its writes are fenced. */
export interface Work<Claim, Result extends Outcome> {
  readonly name: string;
  readonly lease: {
    /** Real time; TIME_SCALE divides it. */
    readonly ms: number;
    /** The lease is never shorter than a call and the write after the call, which TIME_SCALE does not shorten. */
    readonly atLeastMs?: number;
  };
  /** How many rows are worked at the same time in this process; 1 by default. */
  readonly lanes?: number;
  /**
   * Real time between two claims while nothing is due. Then the first lane looks, and each lane behind a busy one. A lane that finds work
   * wakes the next lane. Absent: the work is claimed only by `runOne` and `drain`.
   */
  readonly everyMs?: number;

  /** Claims a due row, raises its fence and begins its lease. Undefined: no row is due and free. Absent: only `runOne` names rows. */
  claim?(leaseMs: number): Promise<Claim | undefined>;
  /** False: another worker has the row. */
  renew(claim: Claim, leaseMs: number): Promise<boolean>;
  /** Does the work. A write whose fence does not match throws ClaimLost, which ends the attempt. */
  run(claim: Claim, held: Held): Promise<Result>;
  /** The outcome after an unexpected error of `run` or `settle`, which the worker has logged. */
  failed(claim: Claim, error: unknown): Result;
  /** Writes the outcome: finishes the row or postpones it, and ends the lease. False: the fence did not match. */
  settle(claim: Claim, result: Result): Promise<boolean>;
  /** Fields of the log lines about a claim. */
  about?(claim: Claim): object;
}

/**
 * Works rows: claim → hold → run → settle, in lanes. Any number of workers in any number of processes may run the same work: the row's lease
 * keeps two workers from working it at once, and its fence rejects the writes of a worker that was frozen past its lease.
 *
 * | the worker              | the row                                                                    |
 * | ----------------------- | -------------------------------------------------------------------------- |
 * | stops                   | is settled after the run's present step                                    |
 * | dies                    | is claimed again when its lease ends                                       |
 * | is frozen               | the same; what the worker writes when it wakes changes nothing             |
 * | cannot reach Postgres   | the same, after three failed renewals; the run's signal aborts before that |
 *
 * Not guaranteed: that a run's calls to other servers happen once. If a worker dies after a call, the next worker repeats the call.
 */
export class Worker<Claim, Result extends Outcome> {
  /** For a run that renews its lease by itself, in addition to the heartbeat. */
  readonly leaseMs: number;
  private readonly lanes: readonly Loop[];
  private readonly busy: boolean[] = [];
  private readonly underWay = new Set<Promise<unknown>>();
  private isStopping = false;
  private failingSinceMs: number | undefined;

  constructor(
    private readonly work: Work<Claim, Result>,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {
    const { name, lease, lanes = 1, everyMs } = work;
    this.leaseMs = leaseLength(scale, lease.ms, lease.atLeastMs);
    this.lanes = Array.from(
      { length: everyMs === undefined ? 0 : lanes },
      (_, lane) => new Loop(`${name} ${lane}`, () => this.pass(lane), logger),
    );
  }

  start(): void {
    for (const lane of this.lanes) lane.start();
  }

  /** Ends the pauses of all lanes. */
  wake(): void {
    for (const lane of this.lanes) lane.wake();
  }

  /** Claims nothing more; resolves once the runs under way have ended and are settled. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await Promise.all(this.lanes.map((lane) => lane.stop()));
    await Promise.allSettled(this.underWay);
  }

  /** Throws if all claims of the last minute failed. */
  assertAlive(): void {
    if (this.failingSinceMs !== undefined && performance.now() - this.failingSinceMs > UNHEALTHY_AFTER_MS)
      throw new Error('nothing could be claimed for a minute');
  }

  /** Claims one row and works it. Undefined: nothing was due. `claim`: for a certain row instead of any that is due. */
  runOne(
    claim: (leaseMs: number) => Promise<Claim | undefined> = (leaseMs) => this.claimAny(leaseMs),
  ): Promise<Outcome | undefined> {
    return this.tracked(this.claimAndRun(claim));
  }

  /** Works rows one after the other until none is due or an outcome pauses. Returns the number of attempts. */
  async drain(): Promise<number> {
    for (let worked = 0; ; worked += 1) {
      const outcome = await this.runOne();
      if (!outcome) return worked;
      if (outcome.pauses) return worked + 1;
    }
  }

  private async pass(lane: number): Promise<number> {
    const onClaimed = () => {
      this.busy[lane] = true;
      this.lanes[lane + 1]?.wake();
    };
    const running = this.claimAndRun((leaseMs) => this.claimAny(leaseMs), onClaimed);
    const outcome = await this.tracked(running).finally(() => (this.busy[lane] = false));
    if (outcome && !outcome.pauses) return 0;
    const pauseMs = Math.min(this.scale.sweep(this.work.everyMs ?? 0), outcome?.overInMs ?? Infinity);
    // A lane behind a busy lane looks as often as the first lane. Otherwise no lane would look for work while all lanes before it are busy.
    const isNext = lane === 0 || this.busy[lane - 1] === true;
    return outcome || isNext ? pauseMs : Math.max(pauseMs, IDLE_LANE_MS);
  }

  /** Lets `stop` wait for a run. */
  private tracked<T>(running: Promise<T>): Promise<T> {
    this.underWay.add(running);
    const done = () => void this.underWay.delete(running);
    running.then(done, done);
    return running;
  }

  private async claimAndRun(
    claimRow: (leaseMs: number) => Promise<Claim | undefined>,
    onClaimed: () => void = () => undefined,
  ): Promise<Outcome | undefined> {
    if (this.isStopping) return undefined;
    const requestedAtMs = performance.now();
    const claim = await this.noted(claimRow(this.leaseMs));
    if (claim === undefined) return undefined;
    onClaimed();
    const renew = () => this.work.renew(claim, this.leaseMs);
    const lease = new KeptLease(this.leaseMs, requestedAtMs, renew, (err) =>
      this.logger.warn({ err, ...this.about(claim) }, 'lease not renewed'),
    );
    try {
      const outcome = await this.attempt(claim, lease.signal);
      attempts.inc({ work: this.work.name, result: outcome.kind });
      return outcome;
    } catch (error) {
      attempts.inc({ work: this.work.name, result: 'unsettled' });
      throw error;
    } finally {
      lease.end();
    }
  }

  private async claimAny(leaseMs: number): Promise<Claim | undefined> {
    return this.work.claim?.(leaseMs);
  }

  /** Remembers since when claims fail. */
  private async noted<T>(claiming: Promise<T>): Promise<T> {
    try {
      const claim = await claiming;
      this.failingSinceMs = undefined;
      return claim;
    } catch (error) {
      this.failingSinceMs ??= performance.now();
      throw error;
    }
  }

  private async attempt(claim: Claim, signal: AbortSignal): Promise<Outcome> {
    const result = await this.resultOf(claim, signal);
    const settled = result && (await this.settled(claim, result));
    if (settled) return settled;
    this.logger.info(this.about(claim), 'another worker has taken over');
    return { kind: 'fenced' };
  }

  /**
   * If a bug makes an outcome unwritable, the outcome of an unexpected error is written in its place. Otherwise the row would be claimed and
   * worked again whenever its lease ends. Undefined: the fence did not match.
   */
  private async settled(claim: Claim, result: Result): Promise<Result | undefined> {
    const settle = async (outcome: Result) =>
      (await this.work.settle(claim, outcome)) ? outcome : undefined;
    try {
      return await settle(result);
    } catch (err) {
      if (err instanceof DependencyUnavailable) throw err;
      this.logger.error({ err, ...this.about(claim), outcome: result.kind }, 'outcome not written');
      return settle(this.work.failed(claim, err));
    }
  }

  /** Undefined: the claim is over. */
  private async resultOf(claim: Claim, signal: AbortSignal): Promise<Result | undefined> {
    try {
      const held = { signal, isStopping: () => this.isStopping };
      return await this.work.run(claim, held);
    } catch (err) {
      if (err instanceof ClaimLost || signal.aborted) return undefined;
      this.logger.warn({ err, ...this.about(claim) }, 'work failed');
      return this.work.failed(claim, err);
    }
  }

  private about(claim: Claim): object {
    return { work: this.work.name, ...this.work.about?.(claim) };
  }
}
