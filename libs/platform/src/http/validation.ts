import {
  type ArgumentMetadata,
  Injectable,
  type PipeTransform,
  type ValidationError,
  ValidationPipe,
} from '@nestjs/common';
import { InvalidInput, NotFound } from '../errors/app-error.js';

/** Turns bodies and queries into instances of their classes. A wrong or unknown field is answered with a 400 that names it. */
export function validationPipe(): ValidationPipe {
  return new InputPipe({
    transform: true,
    whitelist: true,
    forbidNonWhitelisted: true,
    exceptionFactory: (errors) => new InvalidInput(errors.flatMap((error) => problems(error))),
  });
}

/** Checks strings of bodies, queries and paths for characters that Postgres cannot store, so that no DTO has to. */
class InputPipe extends ValidationPipe {
  override transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body') requireShallow(value);
    if (metadata.type !== 'custom') requireStorable(value, metadata.data);
    return super.transform(value, metadata) as Promise<unknown>;
  }
}

function problems(error: ValidationError, parent = ''): string[] {
  const field = parent + error.property;
  const own = Object.entries(error.constraints ?? {}).map(([rule, text]) =>
    rule === 'whitelistValidation'
      ? `${field}: unknown field`
      : `${field}: ${text.replace(`${error.property} `, '')}`,
  );
  return [...own, ...(error.children ?? []).flatMap((child) => problems(child, `${field}.`))];
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isId(text: string): boolean {
  return UUID.test(text);
}

/** Answers 404 for a text that is not a UUID, as for an unknown id. */
@Injectable()
export class IdParam implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!isId(value)) throw new NotFound();
    return value.toLowerCase();
  }
}

// class-transformer recurses, and 1,500 levels overflow its stack. No body of the API has more than four.
const MOST_LEVELS = 32;

/** Throws InvalidInput if lists and objects are nested too deep. */
function requireShallow(body: unknown): void {
  let level: unknown[] = [body];
  for (let levels = 0; level.length > 0; levels += 1) {
    if (levels > MOST_LEVELS) throw new InvalidInput([`body: nested deeper than ${MOST_LEVELS} levels`]);
    level = level.flatMap((one): unknown[] =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    );
  }
}

// Postgres can neither store nor compare a text with a NUL or half a surrogate pair.
const NOT_STORABLE = /\0|\p{Surrogate}/u;

export function isStorable(text: string): boolean {
  return !NOT_STORABLE.test(text);
}

/** Throws InvalidInput if a field of a body or query, or a path parameter, is not storable; the error names every such field. */
function requireStorable(value: unknown, name: string | undefined): void {
  const fields =
    typeof value === 'object' && value !== null ? Object.entries(value) : [[name, value] as const];
  const wrong = fields.filter(([field, content]) => holdsUnstorable(field) || holdsUnstorable(content));
  if (wrong.length > 0)
    throw new InvalidInput(
      wrong.map(
        ([field = 'parameter']) => `${wellFormed(field)}: must not contain NUL or half a surrogate pair`,
      ),
    );
}

function holdsUnstorable(value: unknown): boolean {
  if (typeof value === 'string') return !isStorable(value);
  return Array.isArray(value) && value.some(holdsUnstorable);
}

const wellFormed = (text: string) => text.replaceAll(/\0|\p{Surrogate}/gu, '\uFFFD');
