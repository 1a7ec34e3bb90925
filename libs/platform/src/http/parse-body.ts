import { type z } from 'zod';
import { InvalidInput } from '../errors/app-error.js';

/** Checks a body by a zod schema. Throws InvalidInput with the names of the invalid fields. */
export function checkBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const checked = schema.safeParse(body);
  if (checked.success) return checked.data;
  const { issues } = checked.error;
  throw new InvalidInput(issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`));
}

/** Parses the text of a body and checks it by a zod schema. `parse` must throw for a text that is not JSON. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  raw: string,
  parse: (text: string) => unknown = (text) => JSON.parse(text) as unknown,
): z.output<Schema> {
  let body: unknown;
  try {
    body = parse(raw);
  } catch {
    throw new InvalidInput(['body: is not JSON']);
  }
  return checkBody(schema, body);
}
