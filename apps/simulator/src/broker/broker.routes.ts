import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { CATALOGUE, type Episode, findEpisode, type Series } from './catalogue.js';
import { CLIPS, loadClip } from './clip.js';
import { type ViewingPolicy } from './policy.js';

/** The two calls of the broker protocol. Source URLs use the host of the request. */
export function brokerRoutes(app: FastifyInstance, policy: ViewingPolicy): void {
  app.get('/catalog', { config: { endpoint: 'catalog' } }, (request) => ({
    series: CATALOGUE.map((series) => seriesAnswer(series, baseUrl(app, request))),
  }));

  app.post('/resolve', { config: { endpoint: 'resolve' } }, (request, reply) => {
    const { client, episode: id } = (request.body ?? {}) as Record<string, unknown>;
    if (!isName(client) || !isName(id)) {
      return reply.code(400).send({ reason: 'malformed', details: ['client and episode must be text'] });
    }
    const found = findEpisode(id);
    if (!found) return reply.code(404).send({ reason: 'unknown_episode' });
    if (!policy.allows(client, found.episode)) return reply.code(403).send({ reason: 'policy' });
    return { sources: sourcesOf(found.series, found.episode, baseUrl(app, request)) };
  });
}

function seriesAnswer(series: Series, base: string) {
  return {
    id: series.id,
    name: series.name,
    description: series.description,
    poster: `${base}/posters/${series.id}.svg`,
    episodes: series.episodes.map(({ id, title, season, episode }) => ({ id, title, season, episode })),
  };
}

function sourcesOf(series: Series, episode: Episode, base: string) {
  return CLIPS.map(({ name, description, file }) => ({
    url: `${base}/media/${file}`,
    name,
    description: `${series.name}: ${episode.title} (${description})`,
    filename: `${episode.id}-${name}.mp4`,
    size_bytes: loadClip(file)?.bytes.length,
  }));
}

function baseUrl(app: FastifyInstance, request: FastifyRequest): string {
  return `${request.protocol}://${request.host}${app.prefix}`;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
