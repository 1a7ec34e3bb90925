import { Counter } from 'prom-client';
import { z } from 'zod';
import { problemsOf } from '../call/vendor-answer.js';
import { type ActivityPage, type SummaryActivity, type UnreadableItem } from './activities.js';
import { type SleepList, type SleepRecord } from './sleep.js';

const unreadableItems = new Counter({
  name: 'unreadable_items_total',
  help: "Items of vendors' lists that were left out because they could not be read",
  labelNames: ['vendor', 'endpoint'],
});

// If a page has this many unreadable items and no readable item, its format is unknown. An import that continued would store nothing and
// report success.
const UNKNOWN_FORMAT = 20;

/** Null for a missing value. */
export const maybe = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null);

interface ReadItems<Item> {
  readonly readable: readonly Item[];
  readonly unreadable: ReadonlyArray<{ readonly item: unknown; readonly error: z.ZodError }>;
}

/** Parses each item by itself, so that an unreadable one does not hide the others. */
function readEach<Item>(items: readonly unknown[], read: (item: unknown) => Item): ReadItems<Item> {
  const readable: Item[] = [];
  const unreadable: Array<{ item: unknown; error: z.ZodError }> = [];
  for (const item of items)
    try {
      readable.push(read(item));
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error;
      unreadable.push({ item, error });
    }
  return { readable, unreadable };
}

/** The call that a list came from. */
interface ListOrigin {
  readonly vendor: string;
  readonly endpoint: string;
}

/** Leaves out and counts the items that cannot be parsed. Throws the first error if `most` items and all of them are unreadable. */
export function readList<Item>(
  items: readonly unknown[],
  read: (item: unknown) => Item,
  { vendor, endpoint }: ListOrigin,
  most = 1,
): ReadItems<Item> {
  const list = readEach(items, read);
  const [first] = list.unreadable;
  if (list.readable.length === 0 && first && list.unreadable.length >= most) throw first.error;
  unreadableItems.inc({ vendor, endpoint }, list.unreadable.length);
  return list;
}

/** `partly` reads the id and the start of an item that `read` cannot parse. Throws a ZodError if the page has an unknown format. */
export function readPage<Item extends SummaryActivity>(
  items: readonly unknown[],
  read: (item: unknown) => Item,
  partly: (item: unknown) => UnreadableItem,
  origin: ListOrigin,
): ActivityPage & { readonly activities: readonly Item[] } {
  const list = readList(items, read, origin, UNKNOWN_FORMAT);
  const activities = list.readable;
  const unreadable = list.unreadable.map(({ item }) => partly(item));
  const starts = [...activities, ...unreadable].flatMap(({ startTime }) => startTime?.getTime() ?? []);
  const oldestStart = starts.length > 0 ? new Date(Math.min(...starts)) : undefined;
  return { activities, unreadable, length: items.length, oldestStart };
}

/** The caller counts the unreadable documents. */
export function readNights(
  documents: readonly unknown[],
  read: (document: unknown) => SleepRecord,
): SleepList {
  const { readable: records, unreadable } = readEach(documents, read);
  return { records, unreadable: unreadable.map(({ error }) => problemsOf(error)) };
}
