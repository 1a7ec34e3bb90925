import { gateDecisions, type Cause } from '#reliability';
import { type CatalogueShelf } from '../catalogue/catalogue-shelf.js';
import { findSeries, metaOf, pageOf, previewOf } from '../catalogue/metas.js';
import { type StreamDesk } from '../streams/stream-desk.js';
import { streamObjects } from '../streams/stream-objects.js';
import { streamAnswers } from '../streams/streams-metrics.js';
import { viewerOf } from '../streams/viewer.js';
import { type Address, type ResourceAddress } from './address.js';
import { type Answer, cacheable, passing } from './answer.js';
import { toBrokerId } from './ids.js';
import { CATALOGUE_ID, MANIFEST, TYPE } from './manifest.js';
import { Refusals } from './refusals.js';

/** Who asks, and where they have found us. */
export interface Asker {
  readonly address: string;
  /** Our own address, as the player can reach it. */
  readonly base: string;
  readonly gone?: AbortSignal;
}

const HOUR_S = 3_600;
const FOR_A_MINUTE = `max-age=60, stale-while-revalidate=${HOUR_S}, stale-if-error=${24 * HOUR_S}`;
// Sessions fall idle after a minute of silence, and who asks a cache is not heard of.
const WATCHING = 'private, max-age=20';

/** The add-on as Stremio speaks to it: every question has an answer that a player can read, whatever is wrong. */
export class Addon {
  private readonly refusals = new Refusals();

  constructor(
    private readonly shelf: CatalogueShelf,
    private readonly desk: StreamDesk,
  ) {}

  /** Rejects only where the asker has gone. */
  async answer(address: Address, asker: Asker): Promise<Answer> {
    if (address.kind === 'nowhere') return passing({ error: 'Not found' }, 404);
    if (address.kind === 'manifest')
      return address.session.kind === 'malformed'
        ? this.noManifest()
        : cacheable(MANIFEST, browsing(address.session));
    const result = await this.resource(address, asker);
    return typeof result === 'string' ? this.refusals.of(address, result, asker.base) : result;
  }

  private resource(address: ResourceAddress, asker: Asker): Promise<Answer | Cause> {
    return address.kind === 'stream' ? this.counted(address, asker) : this.browse(address);
  }

  private async counted(address: ResourceAddress, asker: Asker): Promise<Answer | Cause> {
    const result = await this.streams(address, asker);
    streamAnswers.inc({ outcome: typeof result === 'string' ? result : 'sources' });
    return result;
  }

  private async streams({ session, type, id }: ResourceAddress, asker: Asker): Promise<Answer | Cause> {
    const viewer = viewerOf(session, asker.address);
    if (!viewer) {
      gateDecisions.inc({ cause: 'policy_blocked' });
      return 'policy_blocked';
    }
    const episode = toBrokerId(id);
    if (type !== TYPE || episode === '') return 'not_found';
    const resolution = await this.desk.resolve(viewer, episode, asker.gone);
    if (resolution.kind === 'refused') return resolution.cause;
    return { ...passing({ streams: streamObjects(resolution.sources) }), cacheControl: WATCHING };
  }

  private async browse({ kind, session, type, id, extra }: ResourceAddress): Promise<Answer | Cause> {
    if (session.kind === 'malformed') return 'policy_blocked';
    if (type !== TYPE) return 'not_found';
    if (kind === 'catalog' && id !== CATALOGUE_ID) return 'not_found';
    const catalogue = await this.shelf.read();
    if (catalogue.kind === 'refused') return catalogue.cause;
    if (kind === 'catalog')
      return cacheable({ metas: pageOf(catalogue.series, extra).map(previewOf) }, browsing(session));
    const series = findSeries(catalogue.series, id);
    return series ? cacheable({ meta: metaOf(series) }, browsing(session)) : 'not_found';
  }

  /** Installing an add-on that would never play anything should fail at once. */
  private noManifest(): Answer {
    return passing({ error: 'A session is 1 to 64 letters, digits, - and _' }, 404);
  }
}

/** A cache that all share would keep the session as part of the address. */
function browsing({ kind }: ResourceAddress['session']): string {
  return `${kind === 'named' ? 'private' : 'public'}, ${FOR_A_MINUTE}`;
}
