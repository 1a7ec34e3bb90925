import { Module, type OnModuleInit, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { AccountBindings, AccountModule, accountRecords, type PersonalRecords } from '#account';
import { personalRecords } from '#activities';
import { ConnectionRecords, SessionRecords } from '#connections';
import { processingRecords } from '#processing';
import { CallRecords } from '#rate-limit';
import { sleepRecords } from '#sleep';
import { StreamRecords } from '#streams';
import { EventRecords } from '#webhooks';
import { WriteBackRecords } from '#write-back';

/** Every kind of record that an export contains, in this order. */
const EXPORTED: ReadonlyArray<Type<PersonalRecords>> = [
  ...accountRecords,
  ConnectionRecords,
  SessionRecords,
  EventRecords,
  StreamRecords,
  WriteBackRecords,
  ...processingRecords,
  ...personalRecords,
  ...sleepRecords,
  CallRecords,
];

/** Registers the records that an export contains. Their own modules provide them; the start fails if one of these is not imported. */
@Module({ imports: [AccountModule] })
export class ExportedRecordsModule implements OnModuleInit {
  constructor(
    private readonly bindings: AccountBindings,
    private readonly modules: ModuleRef,
  ) {}

  // In the constructor, the records might not be made yet.
  onModuleInit(): void {
    this.bindings.records.register(EXPORTED.map((kind) => this.modules.get(kind, { strict: false })));
  }
}
