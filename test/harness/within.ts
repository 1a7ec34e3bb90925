/**
 * Waits for the work, and throws once it has taken longer than `limitMs`. A step of a test that hangs then names itself; without a limit the
 * test would only exceed its own time-out. The work itself goes on.
 */
export async function within<T>(description: string, limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${description}: not within ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
