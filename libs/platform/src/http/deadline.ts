import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { LATE_ANSWER, sendError } from './error-answer.js';
import { type Logger } from '../logging/logger.js';
import { DeadlineSet } from './deadline-set.js';

// Every route without `MAY_WAIT` must answer within five seconds. A handler that waits for several frozen servers in turn would take
// longer.
const DEADLINE_MS = 4_250;
const CHECK_MS = 250;

type Wait = (request: Pick<FastifyRequest, 'headers' | 'query'>) => number;

/** Route configuration: the time that a client asks for in `Prefer: wait` is added to the deadline. */
export const MAY_WAIT = { waitMs: (({ headers }) => preferredWaitMs(headers.prefer)) satisfies Wait };

// The periodic check adds 250 ms at most, so the edge still answers within five seconds.
const OWN_DEADLINE_MS = 450;

/**
 * Route configuration: the handler has a limit of 4 s of its own, and its answer says more than the edge's 503. So the edge waits longer,
 * because on a busy machine the handler answers some time after its limit.
 */
export const OWN_DEADLINE = { waitMs: (() => OWN_DEADLINE_MS) satisfies Wait };

/** Route configuration: the time that a client asks for with the query parameter `wait` is added to the deadline. */
export const LONG_POLL = { waitMs: (({ query }) => longPollMs(query)) satisfies Wait };

/**
 * Answers 503 for a handler that has not answered within 4.25 s. It leaves an answer that has begun (a stream, an export) unchanged.
 *
 * The deadline does not stop the handler. `replyClosed` tells the handler that the answer is over.
 *
 * The periodic check also removes replies of clients that disconnected, because Fastify calls `onResponse` only for answers that were sent
 * completely.
 */
export function enforceDeadline(server: FastifyInstance, logger: Logger, deadlineMs = DEADLINE_MS): void {
  // One check of all replies every 250 ms costs less than a timer per request.
  const openReplies = new DeadlineSet<FastifyReply>();

  server.addHook('preHandler', (request, reply, done) => {
    openReplies.add(reply, performance.now() + deadlineMs + allowedWaitMs(request));
    done();
  });

  server.addHook('onResponse', (_request, reply, done) => {
    openReplies.remove(reply);
    done();
  });

  const answerAllLate = (nowMs: number) => {
    for (const reply of openReplies.late(nowMs)) {
      openReplies.remove(reply);
      try {
        answerLate(reply);
      } catch (err) {
        // An error thrown in a timer is uncaught. It would end the process, so the other late replies would get no answer.
        logger.error({ err, request_id: reply.request.id }, 'the answer for a late request failed');
        reply.raw.destroy();
      }
    }
  };
  // After a pause of the event loop, `setImmediate` lets the timers and answers that are due run first: a handler with a deadline of its own,
  // such as the add-on's, then still answers by itself. The time is taken before `setImmediate`, since the process may also be paused between
  // the two.
  const check = setInterval(() => setImmediate(answerAllLate, performance.now()), CHECK_MS);
  server.addHook('onClose', (_server, done) => {
    clearInterval(check);
    done();
  });
}

/** How much later than others the answer to this request may come, on a route with `MAY_WAIT`, `LONG_POLL` or `OWN_DEADLINE`. */
export function allowedWaitMs(request: FastifyRequest): number {
  const { waitMs } = request.routeOptions.config as { readonly waitMs?: Wait };
  return waitMs?.(request) ?? 0;
}

function answerLate(reply: FastifyReply): void {
  sendError(reply, LATE_ANSWER, reply.request.id);
}

const LONGEST_WAIT_MS = 10_000;

/** Reads `Prefer: wait=5`, the time that a client is willing to wait for a better answer; at most 10 s. Ignores anything else. */
export function preferredWaitMs(prefer: string | string[] | undefined): number {
  const text = typeof prefer === 'string' ? prefer : (prefer ?? []).join(',');
  const [, seconds] = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(text) ?? [];
  return Math.min(LONGEST_WAIT_MS, Number(seconds ?? 0) * 1_000);
}

export const LONGEST_POLL_SECONDS = 30;

/** The route's own check answers 400 for any other text, so this function only bounds the wait. */
function longPollMs(query: unknown): number {
  const { wait } = query as { readonly wait?: unknown };
  const seconds = typeof wait === 'string' ? Number(wait) : 0;
  return seconds > 0 ? Math.min(LONGEST_POLL_SECONDS, seconds) * 1_000 : 0;
}

/** Returns a signal that aborts when the client has disconnected or an answer (such as the 503 for a late handler) is sent. */
export function replyClosed({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController();
  if (raw.destroyed) closed.abort();
  else raw.once('close', () => closed.abort());
  return closed.signal;
}
