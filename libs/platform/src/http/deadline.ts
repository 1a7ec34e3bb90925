import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { sendError } from './error.filter.js';

// Every route answers within five seconds whatever is away: a handler that meets several frozen servers one after the other
// would not.
const DEADLINE_MS = 4_500;

/** Answers 503 for a handler that is late. One that has begun to answer (a stream, an export) is left alone. */
export function enforceDeadline(server: FastifyInstance): void {
  const timers = new WeakMap<FastifyRequest, NodeJS.Timeout>();

  server.addHook('preHandler', (request, reply, done) => {
    const late = () => {
      if (reply.raw.headersSent) return;
      sendError(
        reply,
        { status: 503, error: 'No answer in time', details: [], retryAfterSeconds: 5 },
        request.id,
      );
    };
    timers.set(request, setTimeout(late, DEADLINE_MS));
    done();
  });

  server.addHook('onResponse', (request, _reply, done) => {
    clearTimeout(timers.get(request));
    done();
  });
}
