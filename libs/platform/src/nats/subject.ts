import { type z } from 'zod';

/** A subject and the one shape of what is said on it. */
export interface Subject<T> {
  readonly name: string;
  /** As metrics name it; the subject itself where this is absent. */
  readonly topic?: string;
  readonly schema: z.ZodType<T>;
}

/** What arrived does not have its subject's shape. Redelivering it would not help. */
export class MessageMalformed extends Error {
  readonly code = 'EVENT.MALFORMED';
  constructor(
    readonly subject: string,
    readonly problems: readonly string[],
    options?: ErrorOptions,
  ) {
    super(`A message on ${subject} is malformed: ${problems.join('; ')}`, options);
    this.name = 'MessageMalformed';
  }
}

export function encode<T>(subject: Subject<T>, payload: T): string {
  return JSON.stringify(checked(subject, payload));
}

export function decode<T>(subject: Subject<T>, text: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MessageMalformed(subject.name, ['not JSON'], { cause });
  }
  return checked(subject, value);
}

function checked<T>({ name, schema }: Subject<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MessageMalformed(
    name,
    parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`),
  );
}
