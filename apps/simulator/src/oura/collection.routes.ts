import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { openOffset, sealOffset } from '../wearables/page-token.js';
import { type Core } from '../core/index.js';
import { sandboxNights } from '../wearables/wearable-athletes.js';
import { requireAccess } from './access.js';
import { isWithin, readDateRange } from './date-range.js';
import { LIST_PAGE_SIZE, SYNCED_AFTER_WAKING_MS } from './oura-facts.js';
import { OuraDetail, OuraProblem } from './oura-problem.js';
import { type Oura } from './oura.js';
import { dailySleepCollection, type Document, type Collection, sleepCollection } from './collections.js';
import { OuraJournal } from './oura-journal.js';

const SANDBOX_ATHLETE = 'sandbox';
const SANDBOX_NIGHTS = 90;
const DAY_MS = 86_400_000;

type Query = Readonly<Record<string, string | undefined>>;

/** Routes of the collections. The sandbox routes need no token and answer the data of an example user. */
export function collectionRoutes(app: FastifyInstance, oura: Oura): void {
  const journal = () => oura.journal;
  const inSandbox = sandboxJournal(oura.core);
  const holderOf = (request: FastifyRequest) => requireAccess(oura, request, 'daily').athleteId;
  for (const collectionOf of [sleepCollection, dailySleepCollection]) {
    routesOf(app, oura, '/v2/usercollection', collectionOf(journal), holderOf);
    routesOf(app, oura, '/v2/sandbox/usercollection', collectionOf(inSandbox), () => SANDBOX_ATHLETE);
  }
}

function routesOf(
  app: FastifyInstance,
  oura: Oura,
  base: string,
  collection: Collection,
  holderOf: (request: FastifyRequest) => string,
): void {
  const config = { endpoint: collection.endpoint };

  app.get<{ Querystring: Query }>(`${base}/${collection.endpoint}`, { config }, (request) => {
    const holder = holderOf(request);
    const range = readDateRange(request.query, oura.core.clock.nowMs());
    const entries = collection.list(holder).filter(({ day }) => isWithin(range, day));
    return pageOf(entries, request.query);
  });

  app.get<{ Params: { document_id: string } }>(
    `${base}/${collection.endpoint}/:document_id`,
    { config },
    (request) => {
      const holder = holderOf(request);
      const found = collection.find(request.params.document_id);
      // A request for another person's document gets the same 404 as a request for an unknown document.
      if (found?.athleteId !== holder) throw new OuraDetail(404, 'Document not found.');
      return found.document();
    },
  );
}

function pageOf(entries: readonly { document: () => Document }[], { next_token: token, fields }: Query) {
  const start = token ? openOffset(token) : 0;
  if (start === undefined) throw new OuraProblem(400, 'next_token is invalid');
  const end = start + LIST_PAGE_SIZE;
  return {
    data: entries.slice(start, end).map(({ document }) => pick(document(), fields)),
    next_token: end < entries.length ? sealOffset(end) : null,
  };
}

function pick(document: Document, fields: string | undefined): Document {
  if (!fields) return document;
  const wanted = new Set(['id', ...fields.split(',').map((name) => name.trim())]);
  return Object.fromEntries(Object.entries(document).filter(([name]) => wanted.has(name)));
}

/** The example user's journal. It is filled on first use, and again on the first use of each new day. */
function sandboxJournal(core: Core): () => OuraJournal {
  const now = () => core.clock.nowMs();
  let journal = new OuraJournal(now);
  let writtenOn: number | undefined;
  return () => {
    const today = Math.floor(now() / DAY_MS);
    if (writtenOn !== today) {
      journal = new OuraJournal(now);
      journal.fill(SANDBOX_ATHLETE, sandboxNights(SANDBOX_NIGHTS, now()), SYNCED_AFTER_WAKING_MS);
      writtenOn = today;
    }
    return journal;
  };
}

/** The answer always contains the id, because events contain the id as well. A field is null if its scope was not granted. */
export function personalInfoRoutes(app: FastifyInstance, oura: Oura): void {
  app.get('/v2/usercollection/personal_info', { config: { endpoint: 'personal_info' } }, (request) => {
    const { athleteId, scopes } = requireAccess(oura, request);
    const athlete = oura.athletes.find(athleteId)!;
    const { weightKg, sex } = oura.athletes.profileOf(athlete);
    const email = `${athlete.firstname}.${athlete.lastname}@example.com`.toLowerCase();
    const isShared = scopes.includes('personal');
    return {
      id: athleteId,
      age: isShared ? 25 + (athlete.seed % 35) : null,
      weight: isShared ? weightKg : null,
      height: isShared ? (155 + (athlete.seed % 40)) / 100 : null,
      biological_sex: isShared ? (sex === 'F' ? 'female' : 'male') : null,
      email: scopes.includes('email') ? email : null,
    };
  });
}
