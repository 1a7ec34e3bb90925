import { Mirror } from './mirror.js';
import { Api, CursorExpired, type Change } from './api.js';

// Mirrors the activities of all athletes into an SQLite file: node dist/examples/sync-client/main.js, with API, KEY (a service key with the
// scopes read and events) and FILE.
const MOST_CHANGES = 500;
const WAIT_SECONDS = 25;
const TYPES = 'activity.*,streams.*,connection.removed,athlete.deleted';

const api = new Api(process.env.API ?? 'http://127.0.0.1:3000', process.env.KEY ?? '');
const mirror = Mirror.open(process.env.FILE ?? 'mirror.sqlite');
let isStopping = false;
process.once('SIGTERM', () => (isStopping = true));

while (!isStopping) {
  try {
    if (!mirror.isComplete) await copyAll();
    await follow();
  } catch (error) {
    if (!(error instanceof CursorExpired)) throw error;
    // This client was away for longer than changes are kept. The missed changes are unknown, so it begins anew.
    mirror.forgetPlace();
  }
}
mirror.close();

/** Takes the place in the feed first and then copies, so that a change during the copy comes again later. A kill repeats the copy. */
async function copyAll(): Promise<void> {
  mirror.begin((await api.changes('latest', { limit: 1 })).next_cursor);
  for await (const athletes of api.athletes())
    for (const { id } of athletes)
      for await (const activities of api.activities(id)) mirror.copy(id, activities);
  mirror.completed();
}

async function follow(): Promise<void> {
  const { items, next_cursor } = await api.changes(mirror.cursor, {
    limit: MOST_CHANGES,
    wait: WAIT_SECONDS,
    types: TYPES,
  });
  mirror.apply(items, next_cursor);
  for (const change of items) console.log(lineOf(change));
}

function lineOf({ id, type, subject_id, revision }: Change): string {
  return JSON.stringify({ id, type, subject_id, revision });
}
