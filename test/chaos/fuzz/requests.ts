import { type Random } from '../random.js';
import { operationsOf, readDocument, type Operation } from '../../harness/openapi-document.js';
import { nonsense, nonsenseText, valueOf, type ValueSchema } from './values.js';

/** The senders of requests. The fuzzer has a token or key of each. */
export const CALLERS = ['athlete', 'operator', 'service', 'ingest', 'nobody', 'garbage'] as const;
export type Caller = (typeof CALLERS)[number];

/** A request as it is kept in the corpus. */
export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly as: Caller;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Body {
  readonly content?: Readonly<Record<string, { readonly schema?: ValueSchema }>>;
}

// A header with other characters is refused by the client, not by the api.
const HEADER = /^[\t\x20-\x7e\x80-\xff]*$/;
const LARGE = 1_100_000;
// The document is large, so it is read once.
const document = readDocument();
const operations = operationsOf(document);

/** A request to a random operation of docs/openapi.json. `ids`: ids of things that exist. */
export function anyRequest(random: Random, ids: readonly string[]): FuzzRequest {
  const [place, operation] = random.pick(operations);
  return requestTo(place, operation, random, ids);
}

export const operationCount = operations.length;

/** A request to the n-th operation. */
export function requestToNth(n: number, random: Random, ids: readonly string[]): FuzzRequest {
  const [place, operation] = operations[n % operations.length]!;
  return requestTo(place, operation, random, ids);
}

function requestTo(place: string, operation: Operation, random: Random, ids: readonly string[]): FuzzRequest {
  const [method = '', pattern = ''] = place.split(' ');
  const headers: Record<string, string> = {};
  const query: string[] = [];
  let path = pattern;
  for (const { name, in: where, schema } of operation.parameters ?? []) {
    const isId = where === 'path' && random.chance(0.5) && ids.length > 0;
    const value = asText(isId ? random.pick(ids) : valueOf(schema, random, resolved));
    if (where === 'path') path = path.replace(`{${name}}`, encoded(value) || '%20');
    else if (random.chance(0.4)) {
      if (where === 'query') query.push(`${encoded(name)}=${encoded(value)}`);
      else if (HEADER.test(value)) headers[name] = value;
    }
  }
  if (random.chance(0.05)) query.push(`${encoded(nonsenseText(random))}=${encoded(nonsenseText(random))}`);
  path = path.replace(/\{\w+\}/g, () => encoded(nonsenseText(random)) || 'x');
  const body = operation.requestBody ? bodyOf(operation.requestBody, random, headers) : undefined;
  return {
    ...{ method, path: query.length > 0 ? `${path}?${query.join('&')}` : path },
    ...{ as: callerOf(pattern, random), headers, ...(body !== undefined && { body }) },
  };
}

/** Mostly somebody who may call the route. */
function callerOf(pattern: string, random: Random): Caller {
  if (random.chance(0.25)) return random.pick(CALLERS);
  if (pattern.startsWith('/admin')) return 'operator';
  if (pattern.includes('/ingest')) return 'ingest';
  if (/\/(webhook-endpoints|athletes|changes)/.test(pattern)) return 'service';
  return 'athlete';
}

function bodyOf({ content = {} }: Body, random: Random, headers: Record<string, string>): string {
  const [type, media] = random.pick(Object.entries(content));
  headers['content-type'] = random.chance(0.95)
    ? type
    : random.pick(['text/plain', 'application/xml', 'application/json;charset=utf-7', 'nonsense']);
  const value = random.chance(0.9) ? valueOf(media.schema ?? {}, random, resolved) : nonsense(random);
  const text = type.includes('form') ? formOf(value) : JSON.stringify(value);
  if (random.chance(0.02)) return `{"x":"${'a'.repeat(LARGE)}"}`;
  if (random.chance(0.02)) return `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  return random.chance(0.05) ? text.slice(0, Math.floor(text.length / 2)) : text;
}

function formOf(value: unknown): string {
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return fields.map(([name, field]) => `${encoded(name)}=${encoded(asText(field))}`).join('&');
}

function resolved(schema: ValueSchema): ValueSchema {
  const name = schema.$ref?.split('/').at(-1);
  return (name ? (document.components.schemas[name] as ValueSchema) : undefined) ?? schema;
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Half a surrogate pair has no percent encoding of its own, so it is sent as its three bytes. */
const encoded = (text: string): string =>
  [...text]
    .map((sign) =>
      /[\ud800-\udfff]/.test(sign) && sign.length === 1 ? '%ED%A0%80' : encodeURIComponent(sign),
    )
    .join('');
