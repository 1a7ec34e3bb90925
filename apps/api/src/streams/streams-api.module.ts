import { Module } from '@nestjs/common';
import { streamsModule } from './streams.js';
import { StreamsController } from './streams.controller.js';

@Module({ imports: [streamsModule], controllers: [StreamsController] })
export class StreamsApiModule {}
