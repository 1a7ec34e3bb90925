import { type ServerResponse } from 'node:http';
import { type FastifyReply, type FastifyRequest } from 'fastify';

const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Nginx would keep events back.
  'x-accel-buffering': 'no',
};

/** Sends the headers of a stream of server-sent events. The caller writes the events; Fastify sends nothing more. Ends a HEAD request. */
export function beginEventStream({ method }: FastifyRequest, reply: FastifyReply): ServerResponse {
  reply.hijack();
  const { raw } = reply;
  const headers = { ...reply.getHeaders(), ...EVENT_STREAM };
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) raw.setHeader(name, value);
  if (method === 'HEAD') raw.end();
  else raw.flushHeaders();
  return raw;
}
