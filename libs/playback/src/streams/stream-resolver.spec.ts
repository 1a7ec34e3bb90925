import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import { type Coalescer, type SessionGate } from '#reliability';
import { type Broker } from '../broker/broker.js';
import { type CatalogueCache } from '../catalogue/catalogue-cache.js';
import { StreamResolver } from './stream-resolver.js';

const TOTAL_MS = 50;
const VIEWER = { key: 'session:tv', name: 'tv', network: '192.0.2.1' };
const never = <T>() => new Promise<T>(() => undefined);

type Catalogue = Pick<CatalogueCache, 'hasEpisode'>;
const known: Catalogue = { hasEpisode: () => Promise.resolve(true) };
const silentCatalogue: Catalogue = { hasEpisode: () => never() };
const open = { admit: () => Promise.resolve({ kind: 'admitted' }) } as unknown as SessionGate;
const silentGate = { admit: () => never() } as unknown as SessionGate;
const silentCoalescer = { share: () => never() } as unknown as Coalescer;

function resolver(catalogue: Catalogue, gate: SessionGate): StreamResolver {
  const logger = createLogger({ level: 'silent', process: 'test' });
  return new StreamResolver(catalogue, gate, silentCoalescer, {} as Broker, logger, TOTAL_MS);
}

// Real parts have limits of their own. These stand for parts that miss them, as on a machine that is busy.
describe('the limit of four seconds for the sources of an episode', () => {
  it.each([
    ['the catalogue', silentCatalogue, open],
    ['the gate', known, silentGate],
    ['the broker', known, open],
  ] as const)(
    'a viewer gets dependency_timeout in time although %s never answers',
    async (_, catalogue, gate) => {
      const answer = await resolver(catalogue, gate).resolve(VIEWER, 'hills');
      expect(answer).toEqual({ kind: 'refused', cause: 'dependency_timeout' });
    },
  );

  it('no place is taken for a viewer who was answered before the catalogue', async () => {
    let answerCatalogue: (isKnown: true) => void = () => undefined;
    const late: Catalogue = { hasEpisode: () => new Promise((resolve) => (answerCatalogue = resolve)) };
    const asked: boolean[] = [];
    const gate = {
      admit: (_pool: string, _session: string, { signal }: { signal: AbortSignal }) => {
        asked.push(signal.aborted);
        return never();
      },
    } as unknown as SessionGate;
    await resolver(late, gate).resolve(VIEWER, 'hills');
    answerCatalogue(true);
    await new Promise(setImmediate);
    // The gate refuses a signal that has aborted.
    expect(asked).toEqual([true]);
  });

  it('rejects if the viewer leaves', async () => {
    const leaving = new AbortController();
    const answer = resolver(silentCatalogue, open).resolve(VIEWER, 'hills', leaving.signal);
    leaving.abort();
    await expect(answer).rejects.toThrow();
  });
});
