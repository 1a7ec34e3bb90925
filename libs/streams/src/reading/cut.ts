/** The channels and points of a recording that a reader wants; the whole recording by default. */
export interface Cut {
  /** Unknown channels are left out. */
  readonly channels?: readonly string[];
  /** At least 2. */
  readonly points?: number;
}

/** Equal cuts have the same name, in any order of their channels. The name of the whole recording is empty. */
export function cutName({ channels, points }: Cut): string {
  const names = channels && [...new Set(channels)].sort().join('+');
  return [points && `points=${points}`, names !== undefined && `channels=${names}`].filter(Boolean).join('.');
}

/** A message to the thread that cuts (cut-thread.ts). */
export interface ThreadRequest {
  /** Equal for equal bodies: the thread keeps the recording that it parsed last under this key. */
  readonly key: string;
  /** Gzipped. */
  readonly body: Uint8Array;
  readonly cut: Cut;
  /** Not 0 after the reader has left. Shared memory, since the thread would read a message only after the cut. */
  readonly hasLeft: Int32Array;
}

export type ThreadAnswer = { readonly body: Uint8Array } | { readonly error: string };
