import { z } from 'zod';
import { type StoredOutput } from '../lifecycle/run.js';

const MOST_BYTES = 256 * 1_024;

const Output = z.object({
  profileId: z.string().max(100).nullish(),
  title: z.string().max(500).nullish(),
  descriptionHash: z.string().max(200).nullish(),
  result: z.record(z.string(), z.unknown()),
});

export class OutputUnusable extends Error {
  override readonly name = 'OutputUnusable';
}

/** Of whoever wrote the processor: anything may come. */
export function readOutput(output: unknown): StoredOutput {
  const { profileId = null, title = null, descriptionHash = null, result } = shaped(output);
  const resultJson = jsonOf(result);
  const bytes = Buffer.byteLength(resultJson);
  if (bytes > MOST_BYTES)
    throw new OutputUnusable(`The processor answered ${bytes} bytes; ${MOST_BYTES} are kept`);
  return { profileId, title, descriptionHash, resultJson };
}

function shaped(output: unknown): z.infer<typeof Output> {
  const read = safely(() => Output.safeParse(output));
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path, message }) => `${path.join('.') || 'output'}: ${message}`);
  throw new OutputUnusable(`The processor answered something else: ${problems.join('; ')}`);
}

function jsonOf(result: Record<string, unknown>): string {
  return safely(() => JSON.stringify(result));
}

/** Getters may throw, references go round, and some numbers are too big for JSON. */
function safely<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new OutputUnusable('The processor answered what cannot be read', { cause });
  }
}
