import { type VideoSource } from '../broker/broker.js';

const HEIGHT = /\b(\d{3,4})[pi](?:\d{2})?\b/i;
const FOUR_K = /\b(4k|uhd)\b/i;

/** Sorts sources by the height in their name, largest first. Sources without a height follow in their given order. */
export function streamObjects(sources: readonly VideoSource[]) {
  return [...sources].sort((one, other) => heightOf(other) - heightOf(one)).map(streamObject);
}

export function streamObject({ url, name = 'Video', description, filename, sizeBytes }: VideoSource) {
  return {
    url,
    name,
    description,
    behaviorHints: {
      // Players choose the next episode's stream by this group, so the quality stays the same.
      bingeGroup: `pacekeeper-${name}`,
      filename: filename ?? lastPartOf(url),
      videoSize: sizeBytes,
      notWebReady: isWebReady(url) ? undefined : true,
    },
  };
}

function heightOf({ name = '' }: VideoSource): number {
  return Number(HEIGHT.exec(name)?.[1] ?? (FOUR_K.test(name) ? 2_160 : 0));
}

/** A web page that was loaded over HTTPS plays only MP4 over HTTPS. */
function isWebReady(url: string): boolean {
  const { protocol, pathname } = new URL(url);
  return protocol === 'https:' && pathname.toLowerCase().endsWith('.mp4');
}

function lastPartOf(url: string): string {
  return new URL(url).pathname.split('/').at(-1) || 'video.mp4';
}
