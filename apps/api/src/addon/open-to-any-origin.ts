import { type FastifyInstance, type FastifyRequest } from 'fastify';

const OPEN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'content-length, content-range, accept-ranges, etag, retry-after, x-request-id',
  // A player's <video> asks without CORS, and may be anywhere.
  'cross-origin-resource-policy': 'cross-origin',
};
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
};

/** Below that path every answer, errors included, may be read by a page of any origin, and every OPTIONS is answered with that. */
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

/** By its route too: an encoded letter leads to the same one. */
function isBelow({ url, routeOptions }: FastifyRequest, path: string): boolean {
  return url.startsWith(`${path}/`) || (routeOptions.url?.startsWith(`${path}/`) ?? false);
}
