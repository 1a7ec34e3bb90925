import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, Sweeps } from '#platform';

const EVERY_MS = 3_600_000;

/** An erasure is remembered a little longer than the stream keeps what it has to refuse. Neither is divided by TIME_SCALE. */
@Injectable()
export class Erasures implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly sweeps: Sweeps,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('sleep erasures', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    await this.database.query("delete from sleep_erasure where erased_at < now() - interval '8 days'");
  }
}
