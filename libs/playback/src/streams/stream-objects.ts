import { type Source } from '../broker/broker.js';

const HEIGHT = /\b(\d{3,4})[pi](?:\d{2})?\b/i;
const FOUR_K = /\b(4k|uhd)\b/i;

/** Best first, as a player expects them; what does not say how large it is keeps its place behind those that do. */
export function streamObjects(sources: readonly Source[]) {
  return [...sources].sort((one, other) => heightOf(other) - heightOf(one)).map(streamObject);
}

export function streamObject({ url, name = 'Video', description, filename, sizeBytes }: Source) {
  return {
    url,
    name,
    description,
    behaviorHints: {
      // The next episode plays in the quality that was chosen for this one.
      bingeGroup: `pacekeeper-${name}`,
      filename: filename ?? lastPartOf(url),
      videoSize: sizeBytes,
      notWebReady: isWebReady(url) ? undefined : true,
    },
  };
}

function heightOf({ name = '' }: Source): number {
  return Number(HEIGHT.exec(name)?.[1] ?? (FOUR_K.test(name) ? 2_160 : 0));
}

/** A page that was loaded over TLS may play nothing else. */
function isWebReady(url: string): boolean {
  const { protocol, pathname } = new URL(url);
  return protocol === 'https:' && pathname.toLowerCase().endsWith('.mp4');
}

function lastPartOf(url: string): string {
  return new URL(url).pathname.split('/').at(-1) || 'video.mp4';
}
