import { Module } from '@nestjs/common';
import { Athletes } from './athletes.js';

@Module({
  providers: [Athletes],
  exports: [Athletes],
})
export class ConnectionsModule {}
