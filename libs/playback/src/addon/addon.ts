import { Counter } from 'prom-client';
import { type Cause, gateDecisions } from '#reliability';
import { type CatalogueCache } from '../catalogue/catalogue-cache.js';
import { findSeries, metaOf, pageOf, previewOf } from '../catalogue/metas.js';
import { type StreamResolver } from '../streams/stream-resolver.js';
import { streamObjects } from '../streams/stream-objects.js';
import { viewerOf } from '../streams/viewer.js';
import { type Address, type ResourceAddress } from './address.js';
import { type AddonAnswer, cacheable, uncached } from './answer.js';
import { CATALOGUE_ID, MANIFEST, toBrokerId, TYPE } from './manifest.js';
import { Refusals } from './refusals.js';

const streamAnswers = new Counter<'outcome'>({
  name: 'playback_stream_answers_total',
  help: 'Answers to requests for the streams of an episode',
  labelNames: ['outcome'],
});

export interface AddonRequest {
  /** The client's IP address. */
  readonly address: string;
  /** Our own base URL, as the player can reach it. */
  readonly base: string;
  /** For the body of an error. */
  readonly requestId: string;
  /** Aborted when the client has left. */
  readonly signal?: AbortSignal;
}

const HOUR_S = 3_600;
const BROWSE_CACHING = `max-age=60, stale-while-revalidate=${HOUR_S}, stale-if-error=${24 * HOUR_S}`;
// A session is idle after a minute without a request. A request that a cache answers is no heartbeat, so caching is short.
const STREAM_CACHING = 'private, max-age=20';

/**
 * Answers the requests of the Stremio protocol. Every request gets an answer that a player can show, also after a failure.
 * A video is not guaranteed: a viewer without a place gets no video, and after a failure a clip says why.
 */
export class Addon {
  private readonly refusals = new Refusals();

  constructor(
    private readonly catalogue: CatalogueCache,
    private readonly resolver: StreamResolver,
  ) {}

  /** Rejects only if the client has left. */
  async answer(address: Address, request: AddonRequest): Promise<AddonAnswer> {
    if (address.kind === 'unknown') return notFound('Not found', request);
    if (address.kind === 'manifest')
      return address.session.kind === 'malformed'
        ? // Fails the installation at once: an add-on with a malformed session would never play anything.
          notFound('A session is 1 to 64 letters, digits, - and _', request)
        : cacheable(MANIFEST, browseCaching(address.session));
    const result = await this.resource(address, request);
    return typeof result === 'string' ? this.refusals.of(address, result, request.base) : result;
  }

  private resource(address: ResourceAddress, request: AddonRequest): Promise<AddonAnswer | Cause> {
    return address.kind === 'stream' ? this.countedStreams(address, request) : this.browse(address);
  }

  private async countedStreams(
    address: ResourceAddress,
    request: AddonRequest,
  ): Promise<AddonAnswer | Cause> {
    const result = await this.streams(address, request);
    streamAnswers.inc({ outcome: typeof result === 'string' ? result : 'sources' });
    return result;
  }

  private async streams(
    { session, type, id }: ResourceAddress,
    request: AddonRequest,
  ): Promise<AddonAnswer | Cause> {
    const viewer = viewerOf(session, request.address);
    if (!viewer) {
      gateDecisions.inc({ cause: 'policy_blocked' });
      return 'policy_blocked';
    }
    const episode = toBrokerId(id);
    if (type !== TYPE || episode === '') return 'not_found';
    const resolution = await this.resolver.resolve(viewer, episode, request.signal);
    if (resolution.kind === 'refused') return resolution.cause;
    return { ...uncached({ streams: streamObjects(resolution.sources) }), cacheControl: STREAM_CACHING };
  }

  private async browse({ kind, session, type, id, extra }: ResourceAddress): Promise<AddonAnswer | Cause> {
    if (session.kind === 'malformed') return 'policy_blocked';
    if (type !== TYPE) return 'not_found';
    if (kind === 'catalog' && id !== CATALOGUE_ID) return 'not_found';
    const catalogue = await this.catalogue.read();
    if (catalogue.kind === 'refused') return catalogue.cause;
    if (kind === 'catalog')
      return cacheable({ metas: pageOf(catalogue.series, extra).map(previewOf) }, browseCaching(session));
    const series = findSeries(catalogue.series, id);
    return series ? cacheable({ meta: metaOf(series) }, browseCaching(session)) : 'not_found';
  }
}

const notFound = (error: string, { requestId }: AddonRequest): AddonAnswer =>
  uncached({ error, code: 'NOT_FOUND', details: [], request_id: requestId }, 404);

/** `private` for a named session: the session is part of the URL and must not be stored in a shared cache. */
function browseCaching({ kind }: ResourceAddress['session']): string {
  return `${kind === 'named' ? 'private' : 'public'}, ${BROWSE_CACHING}`;
}
