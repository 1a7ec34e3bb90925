import { Module } from '@nestjs/common';
import { PlaybackModule } from '#playback';
import { AddonController } from './addon.controller.js';
import { ClipsController } from './clips.controller.js';

@Module({ imports: [PlaybackModule], controllers: [ClipsController, AddonController] })
export class AddonApiModule {}
