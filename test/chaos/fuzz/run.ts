import { randomUUID } from 'node:crypto';
import { connectNats } from '#platform';
import { tokenFor } from '../../harness/environment.js';
import { type World } from '../../harness/world.js';
import { type Random } from '../random.js';
import { type Found, Fuzzer } from './fuzzer.js';
import { allSettled, sendMessages } from './messages.js';
import { type FuzzRequest, operationCount, requestToNth } from './requests.js';

const AT_ONCE = 8;

export interface FuzzOptions {
  readonly world: World;
  readonly natsUrl: string;
  readonly ingestKey: string;
  readonly random: Random;
  /** Requests to each operation of docs/openapi.json. */
  readonly ofEach: number;
  readonly messages: number;
  /** Ids of things that exist. */
  readonly ids: readonly string[];
}

export interface FuzzResult {
  readonly requests: number;
  readonly longestMs: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly found: readonly Found[];
}

/** Sends the corpus and then random requests to every operation, and random messages to every consumer. Throws if a consumer stands still. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { world, natsUrl, ingestKey, random, ofEach, messages, ids } = options;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const fuzzer = new Fuzzer(world.url, {
    athlete: bearer(await tokenFor(randomUUID())),
    operator: bearer(await tokenFor(randomUUID(), { role: 'admin' })),
    service: bearer(await world.serviceKey('read', 'write', 'events', 'ingest')),
    ingest: { 'x-api-key': ingestKey },
    nobody: {},
    garbage: bearer('x.y.z'),
  });
  const requests: FuzzRequest[] = Fuzzer.corpus();
  for (let n = 0; n < ofEach * operationCount; n += 1) requests.push(requestToNth(n, random, ids));
  const total = requests.length;
  const work = async () => {
    for (let next = requests.shift(); next; next = requests.shift()) await fuzzer.send(next);
  };
  const connection = await connectNats(natsUrl, 'fuzz');
  try {
    await Promise.all([...Array.from({ length: AT_ONCE }, work), sendMessages(connection, messages, random)]);
    await allSettled(connection);
  } finally {
    await connection.close();
  }
  const { longestMs, byStatus, found } = fuzzer;
  return { requests: total, longestMs: Math.round(longestMs), byStatus, found };
}
