import { type FastifyInstance, type FastifyReply } from 'fastify';

// Response headers that a page may read; a browser hides all others.
const EXPOSED = [
  'allow',
  'content-disposition',
  'etag',
  'preference-applied',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
  'x-request-id',
].join(', ');
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': [
    'authorization',
    'content-type',
    'idempotency-key',
    'if-none-match',
    'last-event-id',
    'pacekeeper-athlete',
    'prefer',
    'x-request-id',
  ].join(', '),
  // Two hours, the longest time that Chrome accepts.
  'access-control-max-age': '7200',
};

/**
 * Lets pages of these origins call the routes below `path`. Error answers have the CORS headers, too. No answer allows
 * credentials, so a page cannot use cookies: it sends its token in a header.
 */
export function allowOrigins(server: FastifyInstance, path: string, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const allowed = new Set(origins);
  server.addHook('onRequest', (request, reply, done) => {
    const { url = request.originalUrl } = request.routeOptions;
    if (!url.startsWith(path)) return done();
    // The header is also set for a request without Origin: a cache must not serve the answer for one origin to another origin.
    vary(reply, 'origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return done();
    void reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': EXPOSED,
      'cross-origin-resource-policy': 'cross-origin',
    });
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (isPreflight) void reply.headers(PREFLIGHT).code(204).send();
    else done();
  });
}

/** Adds to the answer's `Vary` header, and keeps its earlier values. */
export function vary(reply: FastifyReply, header: string): void {
  const known = reply.getHeader('vary');
  void reply.header('vary', known === undefined ? header : `${String(known)}, ${header}`);
}
