import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { sendError } from './error.filter.js';
import { InHand } from './in-hand.js';
import { preferredWaitMs } from './prefer.js';

// Every route answers within five seconds whatever is away: a handler that meets several frozen servers one after the other
// would not.
const DEADLINE_MS = 4_250;
const CHECK_MS = 250;

/** A route's configuration: a client that prefers to wait may do so there, and is answered late by that much. */
export const MAY_WAIT = { mayWait: true };

/** Answers 503 for a handler that is late. One that has begun to answer (a stream, an export) is left alone. */
export function enforceDeadline(server: FastifyInstance): void {
  // All are looked at in each check. A timer per request would cost more.
  const inHand = new InHand<FastifyReply>();

  server.addHook('preHandler', (request, reply, done) => {
    inHand.add(reply, performance.now() + DEADLINE_MS + extraMs(request));
    done();
  });

  server.addHook('onResponse', (_request, reply, done) => {
    inHand.remove(reply);
    done();
  });

  const check = setInterval(() => {
    for (const reply of inHand.late(performance.now())) {
      inHand.remove(reply);
      if (!reply.raw.headersSent) answerLate(reply);
    }
  }, CHECK_MS);
  server.addHook('onClose', (_server, done) => {
    clearInterval(check);
    done();
  });
}

function extraMs({ routeOptions, headers }: FastifyRequest): number {
  const { mayWait } = routeOptions.config as Partial<typeof MAY_WAIT>;
  return mayWait ? preferredWaitMs(headers.prefer) : 0;
}

function answerLate(reply: FastifyReply): void {
  const answer = { status: 503, error: 'No answer in time', details: [], retryAfterSeconds: 5 };
  sendError(reply, answer, reply.request.id);
}
