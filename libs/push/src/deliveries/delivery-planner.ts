import { type Database, loadSql, Loop, type Logger, type TimeScale } from '#platform';

const planDeliveries = loadSql(import.meta.url, './sql/plan-deliveries.sql');
const replayChanges = loadSql(import.meta.url, './sql/replay-changes.sql');

const POLL_MS = 1_000;
// With 50 endpoints that want all of them, a batch is 10,000 deliveries in some 100 ms.
const CHANGES_AT_ONCE = 200;
const REPLAYED_AT_ONCE = 1_000;

/**
 * Makes a delivery of each change for each endpoint that wants it, and the deliveries of replays. Any number of processes may run it: one at a
 * time plans. The statement that makes the deliveries of a batch also stores how far the plan has come. A batch of a replay follows each batch
 * of new changes, so that neither stops the other.
 */
export class DeliveryPlanner {
  private readonly loop: Loop;

  /** `onPlanned` is called after each batch with deliveries. */
  constructor(
    private readonly database: Database,
    scale: TimeScale,
    logger: Logger,
    private readonly onPlanned: () => void,
  ) {
    const pass = async () => ((await this.planSome()) ? 0 : scale.sweep(POLL_MS));
    this.loop = new Loop('delivery planner', pass, logger);
  }

  start(): void {
    this.loop.start();
  }

  wake(): void {
    this.loop.wake();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** Plans until no change and no replay is left. */
  async drain(): Promise<void> {
    while (await this.planSome());
  }

  /** True if more may be left. */
  private async planSome(): Promise<boolean> {
    const { rows: planned } = await this.database.query<{ changes: number; deliveries: number }>(
      planDeliveries,
      [CHANGES_AT_ONCE],
    );
    const { changes = 0, deliveries = 0 } = planned[0] ?? {};
    if (deliveries > 0) this.onPlanned();
    const { rows: replayed } = await this.database.query<{ replays: number; deliveries: number }>(
      replayChanges,
      [REPLAYED_AT_ONCE],
    );
    const { replays = 0, deliveries: again = 0 } = replayed[0] ?? {};
    if (again > 0) this.onPlanned();
    return changes === CHANGES_AT_ONCE || replays > 0;
  }
}
