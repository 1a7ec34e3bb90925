import { type z } from 'zod';

/** A NATS subject with the schema of its messages. */
export interface Subject<T> {
  readonly name: string;
  /** The label of metrics; by default the subject itself. */
  readonly topic?: string;
  readonly schema: z.ZodType<T>;
}

/** A message does not fit the schema of its subject. A redelivery would not help. */
export class MessageMalformed extends Error {
  readonly code = 'EVENT_MALFORMED';
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

export function decodeOrMalformed<T>(subject: Subject<T>, text: string): T | MessageMalformed {
  try {
    return decode(subject, text);
  } catch (error) {
    if (error instanceof MessageMalformed) return error;
    throw error;
  }
}

function checked<T>({ name, schema }: Subject<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MessageMalformed(
    name,
    parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'message'}: ${message}`),
  );
}
