import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Logger } from '../logging/logger.js';
import { LOGGER } from '../process/surroundings.module.js';
import { AppError } from '../errors/app-error.js';
import { errorAnswer, sendError } from './error-answer.js';
import { validationPipe } from './validation.js';

/** Answers every error of a handler, guard or pipe. It logs errors with status 500 and above, except that a limit of ours is reached. */
@Catch()
class ErrorFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const answer = errorAnswer(error);
    if (answer.status >= 500 && !isExpected(error))
      this.logger.error({ err: error, request_id: request.id, status: answer.status }, 'request failed');
    sendError(reply, answer, request.id);
  }
}

const isExpected = (error: unknown) => error instanceof AppError && error.kind === 'busy';

/** Gives every HTTP process the same error answers and the same checks of input. */
@Module({
  providers: [
    { provide: APP_FILTER, useClass: ErrorFilter },
    { provide: APP_PIPE, useFactory: validationPipe },
  ],
})
export class EdgeModule {}
