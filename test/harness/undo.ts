type Undo = () => Promise<unknown>;

/**
 * Runs a start of several steps. If a step throws, this ends what the earlier steps have started, newest first, and throws the step's error.
 * Otherwise the started processes would take processor time from the next test files.
 */
export async function undoneOnFailure<T>(start: (onFailure: (undo: Undo) => void) => Promise<T>): Promise<T> {
  const undos: Undo[] = [];
  try {
    return await start((undo) => undos.unshift(undo));
  } catch (error) {
    // An error of an undo would hide the error of the step.
    for (const undo of undos) await undo().catch(() => undefined);
    throw error;
  }
}
