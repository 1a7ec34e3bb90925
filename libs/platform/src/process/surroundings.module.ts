import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Clock, SystemClock, timeScale } from '../clock/clock.js';
import { type Logger } from '../logging/logger.js';
import { type Config } from '../config/config.js';

export const CONFIG = Symbol('config');
export const TIME_SCALE = Symbol('time scale');
export const LOGGER = Symbol('logger');

/** Provides configuration, logger, time scale and clock to all modules of a process. */
@Global()
@Module({})
export class SurroundingsModule {
  static with(config: Config, logger: Logger): DynamicModule {
    const providers = [
      { provide: CONFIG, useValue: config },
      { provide: LOGGER, useValue: logger },
      { provide: TIME_SCALE, useValue: timeScale(config.timeScale) },
      { provide: Clock, useClass: SystemClock },
    ];
    return { module: SurroundingsModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}
