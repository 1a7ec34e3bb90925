import { Module } from '@nestjs/common';
import { AdminModule } from '#admin';
import { AdminController } from './admin.controller.js';

@Module({ imports: [AdminModule], controllers: [AdminController] })
export class AdminApiModule {}
