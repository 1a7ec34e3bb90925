import { type Schema } from '../../harness/openapi-document.js';
import { type Random } from '../random.js';

/** A schema of the document, as far as values are made from it. */
export interface ValueSchema extends Schema {
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly maximum?: number;
  readonly items?: ValueSchema;
  readonly required?: readonly string[];
  readonly oneOf?: readonly ValueSchema[];
  readonly anyOf?: readonly ValueSchema[];
  readonly allOf?: readonly ValueSchema[];
  readonly example?: unknown;
}

type Resolve = (schema: ValueSchema) => ValueSchema;

const STRINGS: readonly string[] = [
  '',
  ' ',
  '0',
  '-1',
  '1e309',
  '9007199254740993',
  '999999999999999999999999',
  'null',
  'true',
  '[]',
  '{}',
  'undefined',
  '\u0000',
  '\ud800',
  '\u202e\u0000',
  '😀'.repeat(40),
  'a'.repeat(5_000),
  "' or 1=1 --",
  '$1',
  '%',
  '%00',
  '../../etc/passwd',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '2026-02-30',
  '2026-13-01T25:61:61Z',
  '+275760-09-13T00:00:00.000Z',
  '-271821-04-20',
  '0000-00-00',
  '00000000-0000-0000-0000-000000000000',
  'ÀÉ-ﬀ',
  'constructor',
  '__proto__',
];

const OTHERS: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1e308,
  2 ** 53,
  0.1,
  [],
  {},
  [[[[]]]],
  { __proto__: null },
];

export const nonsenseText = (random: Random): string => random.pick(STRINGS);

export const nonsense = (random: Random): unknown =>
  random.chance(0.5) ? nonsenseText(random) : random.pick(OTHERS);

/** A value that mostly fits the schema. */
export function valueOf(schema: ValueSchema, random: Random, resolve: Resolve): unknown {
  if (random.chance(0.15)) return nonsense(random);
  const { enum: choices, oneOf, anyOf, allOf, type, ...more } = resolve(schema);
  const some = oneOf ?? anyOf;
  if (choices) return random.pick(choices);
  if (some) return valueOf(random.pick(some), random, resolve);
  if (allOf) return Object.assign({}, ...allOf.map((part) => valueOf(part, random, resolve))) as unknown;
  const one = Array.isArray(type) ? random.pick(type as readonly string[]) : (type as string | undefined);
  if (one === 'integer' || one === 'number') return random.below(more.maximum ?? 1_000) + (more.minimum ?? 0);
  if (one === 'boolean') return random.chance(0.5);
  if (one === 'array')
    return Array.from({ length: random.below(4) }, () => valueOf(more.items ?? {}, random, resolve));
  if (one === 'object') return objectOf(more, random, resolve);
  return one === 'null' ? null : textOf(more.format, random);
}

function objectOf({ properties = {}, required = [] }: ValueSchema, random: Random, resolve: Resolve) {
  const made: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(properties))
    if (random.chance(required.includes(name) ? 0.9 : 0.6)) made[name] = valueOf(property, random, resolve);
  if (random.chance(0.1)) made[nonsenseText(random)] = nonsense(random);
  return made;
}

const FORMATS: Readonly<Record<string, string>> = {
  uuid: '5a1c6d1e-2f4c-4a39-9a0d-0d7a5f1c2e11',
  date: '2026-01-02',
  'date-time': '2026-01-02T03:04:05Z',
  uri: 'https://app.invalid/hooks',
};

function textOf(format: string | undefined, random: Random): string {
  const known = format && FORMATS[format];
  if (known) return known;
  return random.chance(0.5) ? `text-${random.below(100)}` : nonsenseText(random);
}
