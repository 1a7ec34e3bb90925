import { z } from 'zod';
import { type RunOutcome, type StoredOutput } from '../lifecycle/run.js';

const MAX_BYTES = 256 * 1_024;

const Output = z.object({
  profileId: z.string().max(100).nullish(),
  title: z.string().max(500).nullish(),
  descriptionHash: z.string().max(200).nullish(),
  result: z.record(z.string(), z.unknown()),
});

const LONGEST_WAIT_MS = 86_400_000;

const NotNow = z.object({
  notNow: z.object({
    waitsFor: z.string().regex(/^[a-z][a-z0-9 _-]{0,99}$/),
    retryAfterMs: z.number().min(0).max(LONGEST_WAIT_MS),
  }),
});

/** A processor returned an output that cannot be stored. */
export class OutputUnusable extends Error {
  override readonly name = 'OutputUnusable';
}

/** Validates a processor's output, since operators write their own processors. Throws OutputUnusable. */
export function readOutcome(output: unknown): RunOutcome {
  const waiting = safely(() => NotNow.safeParse(output));
  if (!waiting.success) return { kind: 'succeeded', output: readOutput(output) };
  const { waitsFor, retryAfterMs } = waiting.data.notNow;
  return { kind: 'waiting', waitsFor, afterMs: retryAfterMs };
}

function readOutput(output: unknown): StoredOutput {
  const { profileId = null, title = null, descriptionHash = null, result } = parseOutput(output);
  const resultJson = jsonOf(result);
  const bytes = Buffer.byteLength(resultJson);
  if (bytes > MAX_BYTES)
    throw new OutputUnusable(`The processor's result has ${bytes} bytes; at most ${MAX_BYTES} are allowed`);
  return { profileId, title, descriptionHash, resultJson };
}

function parseOutput(output: unknown): z.infer<typeof Output> {
  const read = safely(() => Output.safeParse(output));
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path, message }) => `${path.join('.') || 'output'}: ${message}`);
  throw new OutputUnusable(`The processor returned no valid output: ${problems.join('; ')}`);
}

function jsonOf(result: Record<string, unknown>): string {
  return safely(() => JSON.stringify(result));
}

/** Reading an output may throw: a getter throws, references are circular, or JSON cannot hold a bigint. */
function safely<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new OutputUnusable("The processor's output cannot be read", { cause });
  }
}
