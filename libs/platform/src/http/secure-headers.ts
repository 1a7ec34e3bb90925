import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { type FastifyInstance } from 'fastify';
import helmet from 'helmet';
import { type Requirements } from '../auth/access.js';

/** Our pages load only resources of this server, and no other page may frame them. */
const protect = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'self'"],
      // The API documentation page styles itself inline and draws with data: images.
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:'],
      objectSrc: ["'none'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  referrerPolicy: { policy: 'no-referrer' },
  // Not sent: most are for browsers that are out of use.
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

// Computed once. Helmet would build the same dozen headers for every request, which takes a twentieth of a trivial request's time.
export const secureHeaderFields = headersOf(protect);

// An answer to a caller may have personal data. A shared cache may keep an answer to a request with a cookie, but not one to a request with
// `Authorization`. A handler may set another value.
const privateHeaderFields = { ...secureHeaderFields, 'cache-control': 'no-store' };

export function secureHeaders(server: FastifyInstance): void {
  server.addHook('onRequest', ({ routeOptions: { config } }, reply, done) => {
    const access = (config as Requirements | undefined)?.access;
    void reply.headers(access === 'public' ? secureHeaderFields : privateHeaderFields);
    done();
  });
}

function headersOf(middleware: typeof protect): Readonly<Record<string, string>> {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  middleware(response.req, response, (error) => {
    if (error) throw error as Error;
  });
  return response.getHeaders() as Record<string, string>;
}
