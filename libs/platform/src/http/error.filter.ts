import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Logger } from '../logging/logger.js';
import { LOGGER } from '../process/surroundings.module.js';
import { type ErrorAnswer, errorAnswer, errorBody } from './error-answer.js';

/** The one place where an error becomes an HTTP answer. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const answer = errorAnswer(error);
    if (answer.status >= 500)
      this.logger.error({ err: error, request_id: request.id, status: answer.status }, 'request failed');
    sendError(reply, answer, request.id);
  }
}

export function sendError(reply: FastifyReply, answer: ErrorAnswer, requestId: string): void {
  if (reply.sent) return;
  void reply.status(answer.status).header('cache-control', 'no-store');
  if (answer.status === 401) void reply.header('www-authenticate', 'Bearer');
  if (answer.retryAfterSeconds !== undefined)
    void reply.header('retry-after', String(answer.retryAfterSeconds));
  void reply.send(errorBody(answer, requestId));
}
