import { Inject, Injectable } from '@nestjs/common';
import { type RunListener } from '#jobs';
import { type Config, CONFIG, type Sql } from '#platform';
import { WriteBackStore } from './write-back-store.js';

/** A run that has found words for an activity leaves a note to write them, in the transaction that ends it. */
@Injectable()
export class PlannedWriteBacks implements RunListener {
  readonly isOn: boolean;

  constructor(
    private readonly store: WriteBackStore,
    @Inject(CONFIG) { strava }: Config,
  ) {
    this.isOn = strava.writesBack;
  }

  succeeded(sql: Sql, runIds: readonly string[]): Promise<void> {
    return this.store.plan(sql, runIds);
  }
}
