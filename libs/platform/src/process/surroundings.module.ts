import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Clock, SystemClock } from '../clock/clock.js';
import { timeScale } from '../clock/time-scale.js';
import { type Logger } from '../logging/logger.js';
import { type Config } from '../config/config.js';

export const CONFIG = Symbol('config');
export const TIME_SCALE = Symbol('time scale');
export const LOGGER = Symbol('logger');

/** What every part of a process may ask for: its configuration, its clock and its logger. */
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
