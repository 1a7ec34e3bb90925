import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { parseByteRange } from './byte-range.js';
import { findSeries } from './catalogue.js';
import { type Clip, loadClip } from './clip.js';
import { posterSvg } from './poster.js';

/** What players fetch: clips by range, posters whole, both from any origin. */
export function mediaRoutes(app: FastifyInstance): void {
  app.get<{ Params: { file: string } }>(
    '/media/:file',
    { config: { endpoint: 'media' } },
    (request, reply) => {
      const clip = loadClip(request.params.file);
      if (!clip) return reply.code(404).send({ error: 'no such clip' });
      return sendClip(request, reply, clip);
    },
  );

  app.get<{ Params: { file: string } }>('/posters/:file', (request, reply) => {
    const series = findSeries(request.params.file.replace(/\.svg$/, ''));
    if (!series) return reply.code(404).send({ error: 'no such poster' });
    return reply
      .header('access-control-allow-origin', '*')
      .header('cache-control', 'public, max-age=86400')
      .type('image/svg+xml')
      .send(posterSvg(series));
  });
}

function sendClip(request: FastifyRequest, reply: FastifyReply, { bytes, etag }: Clip): FastifyReply {
  const isStale = request.headers['if-range'] !== undefined && request.headers['if-range'] !== etag;
  const range = parseByteRange(isStale ? undefined : request.headers.range, bytes.length);
  void reply
    .header('access-control-allow-origin', '*')
    .header('accept-ranges', 'bytes')
    .header('etag', etag)
    .header('cache-control', 'public, max-age=86400')
    .type('video/mp4');

  switch (range.kind) {
    case 'whole':
      return reply.send(bytes);
    case 'part':
      return reply
        .code(206)
        .header('content-range', `bytes ${range.start}-${range.end}/${bytes.length}`)
        .send(bytes.subarray(range.start, range.end + 1));
    case 'unsatisfiable':
      return reply.code(416).header('content-range', `bytes */${bytes.length}`).send();
  }
}
