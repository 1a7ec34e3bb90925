import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { ConnectionsModule } from '#connections';
import { VendorsModule } from '#vendors';
import { EventHandlers } from '#webhooks';
import { Account } from './account.js';
import { ArchivePlaces } from './archive-places.js';
import { Deauthorizations } from './deauthorizations.js';
import { Deletions } from './deletions.js';
import { AccountExport } from './export.js';
import { ownRecords } from './own-records.js';
import { AccountBindings } from './personal-records.js';
import { Receipts } from './receipts.js';

/** For the api and other libs: export, deletion requests and receipts. */
@Module({
  imports: [ConnectionsModule],
  providers: [Account, AccountBindings, AccountExport, ArchivePlaces, Receipts, ...ownRecords],
  exports: [Account, AccountBindings, AccountExport, Receipts],
})
export class AccountModule implements OnApplicationBootstrap {
  constructor(private readonly bindings: AccountBindings) {}

  onApplicationBootstrap(): void {
    this.bindings.records.required();
  }
}

/** For the worker: carries out deletions. */
@Module({ imports: [AccountModule, VendorsModule], providers: [Deauthorizations, Deletions] })
export class AccountWorkModule implements OnApplicationBootstrap {
  constructor(
    private readonly bindings: AccountBindings,
    handlers: EventHandlers,
    deauthorizations: Deauthorizations,
  ) {
    handlers.register('athlete', deauthorizations);
  }

  onApplicationBootstrap(): void {
    this.bindings.remains.required();
  }
}
