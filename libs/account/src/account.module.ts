import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { ConnectionsModule } from '#connections';
import { Account } from './account.js';
import { Deletions } from './deletions.js';
import { AccountExport } from './export.js';
import { PERSONAL_RECORDS, type PersonalRecords } from './personal-records.js';
import { Receipts } from './receipts.js';

type Records = ReadonlyArray<Type<PersonalRecords>>;

/** `from`: the modules that provide those records. */
@Module({})
export class AccountModule {
  /** To ask for: an export, a deletion, a receipt. */
  static asking(records: Records, from: ReadonlyArray<Type | DynamicModule>): DynamicModule {
    return module(records, from, []);
  }

  /** To carry out what was asked for. */
  static working(records: Records, from: ReadonlyArray<Type | DynamicModule>): DynamicModule {
    return module(records, from, [Deletions]);
  }
}

function module(records: Records, from: ReadonlyArray<Type | DynamicModule>, workers: Type[]): DynamicModule {
  return {
    module: AccountModule,
    imports: [ConnectionsModule, ...from],
    providers: [
      Account,
      AccountExport,
      Receipts,
      ...workers,
      { provide: PERSONAL_RECORDS, inject: [...records], useFactory: (...all: PersonalRecords[]) => all },
    ],
    exports: [Account, AccountExport, Receipts],
  };
}
