import { z } from 'zod';
import { type Series, type VideoSource } from './broker.js';

// Shape and size of a broker's answers. A malformed item of a list is left out; a malformed list makes the answer malformed.

const MOST_SERIES = 2_000;
const MOST_EPISODES = 2_000;
const MOST_SOURCES = 32;

const Id = z.string().min(1).max(200);
const Text = z.string().max(2_000);
const WebUrl = z.string().max(2_048).refine(isWebUrl);
const Position = z.int().min(0).max(100_000);
/** An optional field: if it is malformed, the item is kept without it. */
const orUndefined = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

const WireEpisode = z.object({
  id: Id,
  title: Text,
  season: Position,
  episode: Position,
  released: orUndefined(z.iso.datetime({ offset: true })),
});

const WireSeries = z.object({
  id: Id,
  name: Text.min(1),
  description: orUndefined(Text),
  poster: orUndefined(WebUrl),
  episodes: z.array(z.unknown()).max(MOST_EPISODES),
});

const WireSource = z.object({
  url: WebUrl,
  name: orUndefined(Text),
  description: orUndefined(Text),
  filename: orUndefined(z.string().min(1).max(255)),
  size_bytes: orUndefined(z.int().positive()),
});

const WireCatalogue = z.object({ series: z.array(z.unknown()).max(MOST_SERIES) });
const WireResolution = z.object({ sources: z.array(z.unknown()).max(MOST_SOURCES) });

export function toSeries(json: unknown): Series[] {
  return readable(WireCatalogue.parse(json).series, WireSeries).map((series) => ({
    ...series,
    episodes: readable(series.episodes, WireEpisode),
  }));
}

export function toSources(json: unknown): VideoSource[] {
  return readable(WireResolution.parse(json).sources, WireSource).map(
    ({ size_bytes: sizeBytes, ...source }) => ({
      ...source,
      sizeBytes,
    }),
  );
}

/** The well-formed items. If there are items and all are malformed, throws the error of the last one. */
function readable<Schema extends z.ZodType>(items: readonly unknown[], schema: Schema): z.output<Schema>[] {
  const results = items.map((item) => schema.safeParse(item));
  const good = results.flatMap((result) => (result.success ? [result.data] : []));
  const problem = results.at(-1)?.error;
  if (good.length === 0 && problem) throw problem;
  return good;
}

function isWebUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}
