import { Module, type OnModuleInit, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { AccountBindings, AccountModule, type PersonalRecords, type Remains } from '#account';
import { personalRecords } from '#activities';
import { ConnectionRecords } from '#connections';
import { processingRecords } from '#processing';
import { ChangeRecords, ChangeRemains, SentDeliveries, UnsentDeliveries } from '#push';
import { CallRecords } from '#rate-limit';
import { sleepRecords, SleepRemains } from '#sleep';
import { StreamRecords } from '#streams';
import { EventRecords } from '#webhooks';
import { WriteBackRecords } from '#write-back';

/** Every kind of record that a deletion deletes or waits for, in this order. */
const DELETED: ReadonlyArray<Type<PersonalRecords>> = [
  ConnectionRecords,
  EventRecords,
  StreamRecords,
  WriteBackRecords,
  ...processingRecords,
  ...personalRecords,
  ...sleepRecords,
  // The deletion of other records may write changes, so these come after them.
  ChangeRecords,
  // These come after the changes, because they delete the deliveries of erased changes.
  UnsentDeliveries,
  SentDeliveries,
  CallRecords,
];

const REMAINS: ReadonlyArray<Type<Remains>> = [SleepRemains, ChangeRemains];

/** Registers the records that a deletion deletes or waits for. Their own modules provide them; the start fails if one of these is not imported. */
@Module({ imports: [AccountModule] })
export class DeletedRecordsModule implements OnModuleInit {
  constructor(
    private readonly bindings: AccountBindings,
    private readonly modules: ModuleRef,
  ) {}

  // In the constructor, the records might not be made yet.
  onModuleInit(): void {
    this.bindings.records.register(DELETED.map((kind) => this.modules.get(kind, { strict: false })));
    this.bindings.remains.register(REMAINS.map((kind) => this.modules.get(kind, { strict: false })));
  }
}
