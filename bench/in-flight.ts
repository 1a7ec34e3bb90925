export interface Measured {
  /** The requests that were made: some more than were asked for, since those in flight at the end count as well. */
  readonly count: number;
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** Makes `questions` requests. At any moment `inFlight` of these requests are in flight. */
export async function measure(
  ask: () => Promise<unknown>,
  { questions, inFlight }: { readonly questions: number; readonly inFlight: number },
): Promise<Measured> {
  const took: number[] = [];
  const startedAt = performance.now();
  const requester = async () => {
    while (took.length < questions) {
      const askedAt = performance.now();
      await ask();
      took.push(performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, requester));
  const seconds = (performance.now() - startedAt) / 1_000;
  took.sort((a, b) => a - b);
  return {
    count: took.length,
    perSecond: took.length / seconds,
    p99Ms: took[Math.floor(took.length * 0.99)] ?? 0,
  };
}
