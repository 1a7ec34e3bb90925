import { toAddonId, toBrokerId, TYPE } from '../addon/manifest.js';
import { type Episode, type Series } from '../broker/broker.js';

const PAGE = 100;

/** A series in a catalogue list. */
export function previewOf({ id, name, description, poster }: Series) {
  return { id: toAddonId(id), type: TYPE, name, description, poster, posterShape: 'poster' };
}

/** The page of a series, with its episodes. */
export function metaOf(series: Series) {
  return { ...previewOf(series), videos: series.episodes.map(videoOf) };
}

export function findSeries(all: readonly Series[], addonId: string): Series | undefined {
  const id = toBrokerId(addonId);
  return all.find((series) => series.id === id);
}

/** One page of the series that contain all words of `search` in name, description or episode titles. */
export function pageOf(all: readonly Series[], extra: URLSearchParams): Series[] {
  const words = (extra.get('search') ?? '').toLocaleLowerCase('en').split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? all : all.filter((series) => hasWords(series, words));
  const skip = Number(extra.get('skip') ?? 0);
  const start = Number.isSafeInteger(skip) && skip > 0 ? skip : 0;
  return found.slice(start, start + PAGE);
}

function videoOf({ id, title, season, episode, released }: Episode) {
  return { id: toAddonId(id), title, season, episode, released };
}

function hasWords({ name, description, episodes }: Series, words: readonly string[]): boolean {
  const text = [name, description, ...episodes.map(({ title }) => title)].join('\n').toLocaleLowerCase('en');
  return words.every((word) => text.includes(word));
}
