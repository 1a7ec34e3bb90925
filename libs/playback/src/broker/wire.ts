import { z } from 'zod';
import { type Series, type Source } from './broker.js';

// What a broker may say, and how much of it. One odd item of a list is left out; a list that is none makes the answer unreadable.

const MOST_SERIES = 2_000;
const MOST_EPISODES = 2_000;
const MOST_SOURCES = 32;

const Id = z.string().min(1).max(200);
const Text = z.string().max(2_000);
const WebUrl = z.string().max(2_048).refine(isWebUrl);
const Position = z.int().min(0).max(100_000);
/** Worth having, not worth losing the item for. */
const extra = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

const WireEpisode = z.object({
  id: Id,
  title: Text,
  season: Position,
  episode: Position,
  released: extra(z.iso.datetime({ offset: true })),
});

const WireSeries = z.object({
  id: Id,
  name: Text.min(1),
  description: extra(Text),
  poster: extra(WebUrl),
  episodes: z.array(z.unknown()).max(MOST_EPISODES),
});

const WireSource = z.object({
  url: WebUrl,
  name: extra(Text),
  description: extra(Text),
  filename: extra(z.string().min(1).max(255)),
  size_bytes: extra(z.int().positive()),
});

const WireCatalogue = z.object({ series: z.array(z.unknown()).max(MOST_SERIES) });
const WireResolution = z.object({ sources: z.array(z.unknown()).max(MOST_SOURCES) });

export function toSeries(json: unknown): Series[] {
  return legible(WireCatalogue.parse(json).series, WireSeries).map((series) => ({
    ...series,
    episodes: legible(series.episodes, WireEpisode),
  }));
}

export function toSources(json: unknown): Source[] {
  return legible(WireResolution.parse(json).sources, WireSource).map(
    ({ size_bytes: sizeBytes, ...source }) => ({
      ...source,
      sizeBytes,
    }),
  );
}

/** Those that can be read. Where there are some and none of them can, the last one's problem is thrown. */
function legible<Schema extends z.ZodType>(items: readonly unknown[], schema: Schema): z.output<Schema>[] {
  const results = items.map((item) => schema.safeParse(item));
  const good = results.flatMap((result) => (result.success ? [result.data] : []));
  const problem = results.at(-1)?.error;
  if (good.length === 0 && problem) throw problem;
  return good;
}

function isWebUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}
