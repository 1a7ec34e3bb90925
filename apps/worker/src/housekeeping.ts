import { Inject, Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { AccountModule, Receipts } from '#account';
import { ActivitiesModule, ImportJobs } from '#activities';
import { DeadLetterOrderRows, StreamResetOrderRows } from '#admin';
import { OAuthFlows, Revocations, Sessions, SignInCodes } from '#connections';
import { ConfigSnapshots, Jobs, ProcessingModule } from '#processing';
import { type Config, CONFIG, OperatorActions, Sweeps, TIME_SCALE, type TimeScale, Workers } from '#platform';
import { Budgets } from '#rate-limit';
import { BudgetsModule } from '#vendors';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Begins the background work that no feature begins: due revocations, and the purges of old rows. */
@Injectable()
class Housekeeping implements OnApplicationBootstrap {
  constructor(
    private readonly sweeps: Sweeps,
    private readonly workers: Workers,
    private readonly revocations: Revocations,
    private readonly flows: OAuthFlows,
    private readonly sessions: Sessions,
    private readonly codes: SignInCodes,
    private readonly receipts: Receipts,
    private readonly letterOrders: DeadLetterOrderRows,
    private readonly resetOrders: StreamResetOrderRows,
    private readonly jobs: Jobs,
    private readonly imports: ImportJobs,
    private readonly actions: OperatorActions,
    private readonly settings: ConfigSnapshots,
    private readonly budgets: Budgets,
    @Inject(CONFIG) private readonly config: Pick<Config, 'retentionDays'>,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  onApplicationBootstrap(): void {
    this.workers.of(this.revocations.work).start();
    this.sweeps.every('consents', HOUR_MS, () => this.flows.purge());
    this.sweeps.every('past sessions', HOUR_MS, () => this.sessions.purge());
    this.sweeps.every('past sign-in codes', HOUR_MS, () => this.codes.purge());
    this.sweeps.every('past dead letter orders', HOUR_MS, () => this.letterOrders.purge());
    this.sweeps.every('past stream reset orders', HOUR_MS, () => this.resetOrders.purge());
    const days = this.config.retentionDays;
    this.purgeHourly('jobs', this.jobs, days.jobs);
    this.purgeHourly('imports', this.imports, days.imports);
    this.purgeHourly('receipts', this.receipts, days.receipts);
    this.purgeHourly('actions', this.actions, days.audit);
    this.purgeHourly('settings', this.settings, days.audit);
    for (const budget of this.budgets.all())
      this.purgeHourly(`calls of ${budget.policy.vendor}`, budget, days.ledger);
  }

  private purgeHourly(name: string, rows: { purge(keptMs: number): Promise<unknown> }, days: number): void {
    const keptMs = this.scale.wait(days * DAY_MS);
    this.sweeps.every(`past ${name}`, HOUR_MS, () => rows.purge(keptMs));
  }
}

/** Provides the housekeeping sweeps. */
@Module({
  imports: [AccountModule, BudgetsModule, ActivitiesModule, ProcessingModule],
  providers: [Housekeeping, OperatorActions, DeadLetterOrderRows, StreamResetOrderRows],
})
export class HousekeepingModule {}
