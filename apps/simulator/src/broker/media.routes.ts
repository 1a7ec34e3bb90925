import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { findSeries, type Series } from './catalogue.js';
import { type Clip, loadClip } from './clip.js';

/** Routes for the files that players fetch. Clips are served by range, posters as a whole. Any origin may fetch these files. */
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

type ByteRange = { kind: 'whole' } | { kind: 'part'; start: number; end: number } | { kind: 'unsatisfiable' };

const SINGLE_RANGE = /^bytes=(\d*)-(\d*)$/;

/**
 * `end` is inclusive, as in Content-Range. A header with several ranges, or a malformed one, gets the
 * whole file. RFC 9110 allows this answer.
 */
export function parseByteRange(header: string | undefined, sizeBytes: number): ByteRange {
  const match = SINGLE_RANGE.exec(header ?? '');
  if (!match || (!match[1] && !match[2])) return { kind: 'whole' };

  const [, first = '', last = ''] = match;
  if (!first) return suffix(Number(last), sizeBytes);

  const start = Number(first);
  const end = last ? Math.min(Number(last), sizeBytes - 1) : sizeBytes - 1;
  if (last && Number(last) < start) return { kind: 'whole' };
  return start < sizeBytes ? { kind: 'part', start, end } : { kind: 'unsatisfiable' };
}

function suffix(length: number, sizeBytes: number): ByteRange {
  if (length === 0) return { kind: 'unsatisfiable' };
  return { kind: 'part', start: Math.max(0, sizeBytes - length), end: sizeBytes - 1 };
}

/** A poster with the aspect ratio 2:3, as players expect. */
function posterSvg(series: Series): string {
  const [dark, light] = series.colours;
  const episodes = `${series.episodes.length} guided workouts`;
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="450" viewBox="0 0 300 450">',
    `<defs><linearGradient id="g" x2="1" y2="1"><stop stop-color="${dark}"/><stop offset="1" stop-color="${light}"/></linearGradient></defs>`,
    '<rect width="300" height="450" fill="url(#g)"/>',
    '<path d="M0 330 L70 270 L120 300 L200 210 L300 290 V450 H0Z" fill="#fff" opacity=".12"/>',
    '<path d="M30 96h240" stroke="#fff" stroke-width="3" opacity=".7"/><circle cx="84" cy="82" r="14" fill="#f2b84b"/>',
    `<text x="30" y="150" font-family="sans-serif" font-size="32" font-weight="700" fill="#fff">${series.name}</text>`,
    `<text x="30" y="180" font-family="sans-serif" font-size="16" fill="#fff" opacity=".8">${episodes}</text>`,
    '</svg>',
  ].join('');
}
