import { type FastifyInstance } from 'fastify';
import { register } from 'prom-client';
import { enforceDeadline } from '../http/deadline.js';
import { errorAnswer, sendError } from '../http/error-answer.js';
import { secureHeaders } from '../http/secure-headers.js';
import { createHttpAdapter } from '../http/server.js';
import { type Logger } from '../logging/logger.js';
import { scrape } from '../metrics/scrape.js';

/** Makes a server for `/metrics` alone. Its port is for Prometheus only. The server stays open until the process ends. */
export function createMetricsServer(logger: Logger): FastifyInstance {
  const server: FastifyInstance = createHttpAdapter([]).getInstance();
  secureHeaders(server);
  enforceDeadline(server, logger);
  server.get('/metrics', async (_request, reply) => {
    void reply.type(register.contentType);
    return scrape(register);
  });
  server.setErrorHandler((err, request, reply) => {
    logger.error({ err, request_id: request.id }, 'metrics failed');
    sendError(reply, errorAnswer(err), request.id);
  });
  server.setNotFoundHandler((request, reply) =>
    sendError(reply, errorAnswer({ statusCode: 404 }), request.id),
  );
  return server;
}
