import { Module } from '@nestjs/common';
import { AccountApiModule } from '../account/account-api.module.js';
import { CallbackController } from './callback.controller.js';
import { ConnectionsController } from './connections.controller.js';

@Module({ imports: [AccountApiModule], controllers: [ConnectionsController, CallbackController] })
export class ConnectionsApiModule {}
