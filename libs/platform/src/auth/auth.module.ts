import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Clock } from '../clock/clock.js';
import { CONFIG } from '../process/surroundings.module.js';
import { type Config } from '../config/config.js';
import { AuthGuard } from './auth.guard.js';
import { TokenVerifier } from './token-verifier.js';

@Module({
  providers: [
    {
      provide: TokenVerifier,
      inject: [CONFIG, Clock],
      useFactory: (config: Config, clock: Clock) => new TokenVerifier(config.auth, clock),
    },
    { provide: APP_GUARD, useClass: AuthGuard },
  ],
})
export class AuthModule {}
