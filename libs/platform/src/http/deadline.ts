import { type FastifyInstance, type FastifyReply } from 'fastify';
import { sendError } from './error.filter.js';

// Every route answers within five seconds whatever is away: a handler that meets several frozen servers one after the other
// would not.
const DEADLINE_MS = 4_250;
const CHECK_MS = 250;

/** Answers 503 for a handler that is late. One that has begun to answer (a stream, an export) is left alone. */
export function enforceDeadline(server: FastifyInstance): void {
  // In order of arrival, so that a check looks at the late ones only. A timer per request would cost more than both.
  const waiting = new Map<FastifyReply, number>();

  server.addHook('preHandler', (_request, reply, done) => {
    waiting.set(reply, performance.now());
    done();
  });

  server.addHook('onResponse', (_request, reply, done) => {
    waiting.delete(reply);
    done();
  });

  const check = setInterval(() => {
    for (const [reply, sinceMs] of waiting) {
      if (performance.now() - sinceMs < DEADLINE_MS) return;
      waiting.delete(reply);
      if (!reply.raw.headersSent) answerLate(reply);
    }
  }, CHECK_MS);
  server.addHook('onClose', (_server, done) => {
    clearInterval(check);
    done();
  });
}

function answerLate(reply: FastifyReply): void {
  const answer = { status: 503, error: 'No answer in time', details: [], retryAfterSeconds: 5 };
  sendError(reply, answer, reply.request.id);
}
