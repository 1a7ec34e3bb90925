import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { openOffset, sealOffset } from '../wearables/page-token.js';
import { requireAccess } from './access.js';
import { isWithin, readDateRange } from './date-range.js';
import { LIST_PAGE_SIZE } from './oura-facts.js';
import { OuraProblem } from './oura-problem.js';
import { type Oura } from './oura.js';
import { SANDBOX_ATHLETE, sandboxJournal } from './sandbox.js';
import { dailySleepShelf, type Document, type Shelf, sleepShelf } from './shelf.js';

type Query = Readonly<Record<string, string | undefined>>;

/** Every data route has a sandbox twin that belongs to nobody and asks for no token. */
export function collectionRoutes(app: FastifyInstance, oura: Oura): void {
  const journal = () => oura.journal;
  const inSandbox = sandboxJournal(oura.core);
  const holderOf = (request: FastifyRequest) => requireAccess(oura, request, 'daily').athleteId;
  for (const shelfOf of [sleepShelf, dailySleepShelf]) {
    shelfRoutes(app, oura, '/v2/usercollection', shelfOf(journal), holderOf);
    shelfRoutes(app, oura, '/v2/sandbox/usercollection', shelfOf(inSandbox), () => SANDBOX_ATHLETE);
  }
}

function shelfRoutes(
  app: FastifyInstance,
  oura: Oura,
  base: string,
  shelf: Shelf,
  holderOf: (request: FastifyRequest) => string,
): void {
  const config = { endpoint: shelf.endpoint };

  app.get<{ Querystring: Query }>(`${base}/${shelf.endpoint}`, { config }, (request) => {
    const holder = holderOf(request);
    const range = readDateRange(request.query, oura.core.clock.nowMs());
    const entries = shelf.list(holder).filter(({ day }) => isWithin(range, day));
    return pageOf(entries, request.query);
  });

  app.get<{ Params: { document_id: string } }>(
    `${base}/${shelf.endpoint}/:document_id`,
    { config },
    (request) => {
      const holder = holderOf(request);
      const found = shelf.find(request.params.document_id);
      // Another person's document is as unknown as one that never was.
      if (found?.athleteId !== holder) throw new OuraProblem(404, 'Document not found');
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
