import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Config } from '#platform';
import { type AddonRequest } from '#playback';

const HOST = /^[\w.-]+(:\d{1,5})?$|^\[[\da-f:.]+\](:\d{1,5})?$/i;
const OPEN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'content-length, content-range, accept-ranges, etag, retry-after, x-request-id',
  // A player's <video> requests without CORS, from any site.
  'cross-origin-resource-policy': 'cross-origin',
};
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
};

/** Behind a proxy of TRUST_PROXY, `request.ip`, `protocol` and `host` describe the client. Otherwise they describe the direct peer. */
export function addonRequestOf(request: FastifyRequest, reply: FastifyReply, { http }: Config): AddonRequest {
  const { ip, protocol, host } = request;
  const base = http.isPublic || !HOST.test(host) ? http.publicUrl : `${protocol}://${host}`;
  return { address: ip, base, requestId: request.id, signal: goneSignal(reply) };
}

function goneSignal({ raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) leaving.abort();
  });
  return leaving.signal;
}

/** True if the If-None-Match names this tag. A cache may have changed the tag to a weak one. */
export function hasTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const named = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return named.includes(etag) || named.includes('*');
}

/** Lets pages of any origin read every answer below `path`, errors included, and answers every OPTIONS there. */
export function openToAnyOrigin(server: FastifyInstance, path: string): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (!isBelow(request, path)) {
      done();
      return;
    }
    void reply.headers(OPEN);
    if (request.method !== 'OPTIONS') done();
    else void reply.headers(PREFLIGHT).code(204).send();
  });
}

/** The matched route is compared as well: a URL with an encoded letter leads to the same route. */
function isBelow({ url, routeOptions }: FastifyRequest, path: string): boolean {
  return url.startsWith(`${path}/`) || (routeOptions.url?.startsWith(`${path}/`) ?? false);
}
