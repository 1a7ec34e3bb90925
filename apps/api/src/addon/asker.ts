import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Config } from '#platform';
import { type Asker } from '#playback';

const HOST = /^[\w.-]+(:\d{1,5})?$|^\[[\da-f:.]+\](:\d{1,5})?$/i;

/** `request.ip`, `protocol` and `host` are those that a proxy of TRUST_PROXY has seen; of any other peer its own. */
export function askerOf(request: FastifyRequest, reply: FastifyReply, { http }: Config): Asker {
  const { ip, protocol, host } = request;
  const base = http.isPublic || !HOST.test(host) ? http.publicUrl : `${protocol}://${host}`;
  return { address: ip, base, gone: goneSignal(reply) };
}

function goneSignal({ raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) leaving.abort();
  });
  return leaving.signal;
}
