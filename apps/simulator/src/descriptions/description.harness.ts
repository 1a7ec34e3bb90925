import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly responses: Readonly<
    Record<string, { schema?: Schema; content?: Record<string, { schema: Schema }> }>
  >;
}

interface Document {
  readonly openapi?: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Seen {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const REF = /^#\/(.+)$/;

/** A vendor's OpenAPI description, and the described fields that answers have contained so far. */
export class Description {
  private readonly ajv: Ajv;
  private readonly document: Document;
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly declared = new Set<string>();
  private readonly given = new Set<string>();

  constructor(
    folder: string,
    private readonly vendor: string,
    /** True for a Swagger 2.0 description. Swagger 2.0 cannot declare null, and yet the vendor's examples contain null. */
    private readonly nullIsAbsent = false,
  ) {
    this.document = JSON.parse(readFileSync(path.join(folder, `${vendor}.json`), 'utf8')) as Document;
    const options = { strict: false, allErrors: true, validateSchema: false, logger: false } as const;
    this.ajv = this.document.openapi?.startsWith('3.1') ? new Ajv2020(options) : new Ajv(options);
    // `ajv-formats` is a CommonJS module. Its default export lies one level deeper than its types say.
    addFormats.default(this.ajv);
    this.ajv.addSchema(this.document, vendor);
  }

  /** The operations with paths as in the description, for example `GET /athlete`. */
  get operations(): string[] {
    return Object.entries(this.document.paths).flatMap(([route, item]) =>
      METHODS.filter((method) => item[method]).map((method) => `${method.toUpperCase()} ${route}`),
    );
  }

  /** Returns the differences of an answer from the description, or an empty list. */
  problems(operation: string, { status, contentType, text }: Seen): string[] {
    const [method = '', route = ''] = operation.split(' ');
    const responses = this.document.paths[route]?.[method.toLowerCase()]?.responses;
    if (!responses) return ['the description has no such operation'];
    const key = responses[status] ? String(status) : 'default';
    const response = responses[key];
    if (!response) return [`the description has no status ${status}`];
    const media = Object.keys(response.content ?? {})[0];
    const schema = response.schema ?? (media && response.content?.[media]?.schema);
    if (!schema) return [];
    if (!contentType.startsWith(media ?? 'application/json')) return [`content-type is ${contentType}`];
    if (media && !media.includes('json')) return [];
    const at = ['paths', route, method.toLowerCase(), 'responses', key].concat(
      media === undefined ? ['schema'] : ['content', media, 'schema'],
    );
    const body = this.readable(JSON.parse(text));
    const validate = this.validator(`${this.vendor}#${at.map(pointer).join('')}`);
    validate(body);
    this.noteFields(schema, body, '');
    return (validate.errors ?? []).map(
      ({ instancePath, message = '' }) => `${instancePath || '/'} ${message}`,
    );
  }

  /** Described fields that no answer has contained, as `Schema.field`. */
  neverGiven(): string[] {
    return [...this.declared].filter((field) => !this.given.has(field)).sort();
  }

  private validator($ref: string): ValidateFunction {
    const known = this.validators.get($ref) ?? this.ajv.compile({ $ref });
    this.validators.set($ref, known);
    return known;
  }

  private readable(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.readable(item));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).filter(([, inner]) => !(this.nullIsAbsent && inner === null));
    return Object.fromEntries(entries.map(([name, inner]) => [name, this.readable(inner)]));
  }

  private noteFields(schema: Schema, value: unknown, name: string): void {
    const { $ref, items, properties } = schema;
    const ref = typeof $ref === 'string' ? REF.exec($ref)?.[1] : undefined;
    if (ref) return this.noteFields(this.resolve(ref), value, ref.split('/').at(-1)!);
    for (const kind of ['allOf', 'anyOf', 'oneOf'])
      for (const part of (schema[kind] ?? []) as Schema[]) this.noteFields(part, value, name);
    if (Array.isArray(value))
      return value.forEach((item) => this.noteFields((items ?? {}) as Schema, item, name));
    if (typeof value !== 'object' || value === null || !properties) return;
    for (const [field, inner] of Object.entries(properties as Record<string, Schema>)) {
      this.declared.add(`${name}.${field}`);
      const held = (value as Record<string, unknown>)[field];
      if (held === undefined || held === null) continue;
      this.given.add(`${name}.${field}`);
      this.noteFields(inner, held, `${name}.${field}`);
    }
  }

  private resolve(ref: string): Schema {
    return ref.split('/').reduce<unknown>((at, key) => (at as Schema)[key], this.document) as Schema;
  }
}

function pointer(key: string): string {
  return `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
}
