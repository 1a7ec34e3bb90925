import { Module } from '@nestjs/common';
import { ActivitiesModule } from '#activities';
import { CONNECTION_LISTENERS, type ConnectionListener } from '#connections';
import { ActivitiesController } from './activities.controller.js';
import { ImportOnConnect } from './import-on-connect.js';
import { ImportsController } from './imports.controller.js';

@Module({
  imports: [ActivitiesModule],
  controllers: [ActivitiesController, ImportsController],
  providers: [
    ImportOnConnect,
    {
      provide: CONNECTION_LISTENERS,
      inject: [ImportOnConnect],
      useFactory: (...listeners: ConnectionListener[]) => listeners,
    },
  ],
})
export class ActivitiesApiModule {}
