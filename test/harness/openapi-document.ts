import { readFileSync } from 'node:fs';
import { type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const FILE = 'docs/openapi.json';
const METHODS = ['get', 'put', 'post', 'patch', 'delete'] as const;
// Errors of HTTP itself. Any route may answer with them, so the document names them only in its description.
const STATUSES_OF_ANY_ROUTE = [405, 408, 414, 417, 431];

interface Answer {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: unknown;
}

export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: ReadonlyArray<Record<string, unknown>>;
  readonly parameters?: ReadonlyArray<{
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema: Schema;
  }>;
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string; readonly description: string };
  readonly servers: ReadonlyArray<{ readonly url: string }>;
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description?: string }>;
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<(typeof METHODS)[number], Operation>>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema & { readonly properties: Record<string, Schema> }>>;
    readonly responses: Readonly<Record<string, Answer>>;
  };
}

export function readDocument(): Document {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Document;
}

/** Each operation with its method and path, as in `GET /v1/me`. */
export function operationsOf({ paths }: Document): Array<readonly [string, Operation]> {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation ? [[`${method.toUpperCase()} ${path}`, operation] as const] : [];
    }),
  );
}

interface GivenAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The parsed JSON; undefined if the answer has no body. */
  readonly body: unknown;
}

/** Checks answers of the api against docs/openapi.json. A field that the document does not name is an error. Routes unknown to it pass. */
export class AnswerValidator {
  private readonly document = withoutOtherFields(readDocument());
  private readonly ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateSchema: false,
    logger: false,
  });
  private readonly patterns = operationsOf(this.document).map(([place, operation]) => ({
    place,
    operation,
    pattern: new RegExp(`^${place.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));
  private readonly validators = new Map<string, ValidateFunction>();
  /** The ids of operations that have answered with success. */
  readonly succeeded = new Set<string>();

  constructor() {
    // The module is CommonJS: its default export is one level deeper than its types say.
    addFormats.default(this.ajv);
    this.ajv.addSchema(this.document, 'api');
  }

  /** Throws if the document does not allow this answer. */
  assert({ method, path, status, body }: GivenAnswer): void {
    const request = `${method} ${path.split('?')[0]}`;
    const known = this.patterns
      .filter(({ pattern }) => pattern.test(request))
      // The place with the fewest parameters wins: `/activities/latest/process` before `/activities/{id}/process`.
      .sort((one, other) => one.place.split('{').length - other.place.split('{').length)[0];
    if (!known || STATUSES_OF_ANY_ROUTE.includes(status)) return;
    const { place, operation } = known;
    if (!operation.responses[status]) throw new Error(`${place} answered ${status}, which is not in ${FILE}`);
    const problems =
      body === undefined ? [] : this.problems(place, operation.responses[status], status, body);
    if (problems.length > 0)
      throw new Error(
        `${place} answered ${status}, but not as ${FILE} describes it:\n${problems.join('\n')}`,
      );
    if (status < 400) this.succeeded.add(operation.operationId);
  }

  private problems(place: string, answer: Answer, status: number, body: unknown): string[] {
    const [method = '', path = ''] = place.split(' ');
    const at = answer.$ref
      ? answer.$ref.slice(1)
      : `/paths/${escaped(path)}/${method.toLowerCase()}/responses/${status}`;
    const media = Object.keys(this.resolve(answer).content ?? {}).find(
      (type) => type === 'application/json' || type === 'text/event-stream',
    );
    if (media === undefined) return ['the document describes no JSON'];
    const validate = this.validator(`api#${at}/content/${escaped(media)}/schema`);
    validate(body);
    return (validate.errors ?? []).map(
      ({ instancePath, message = '', params }) =>
        `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
    );
  }

  private resolve(answer: Answer): Answer {
    const name = answer.$ref?.split('/').at(-1);
    return (name && this.document.components.responses[name]) || answer;
  }

  private validator(pointer: string): ValidateFunction {
    const known = this.validators.get(pointer) ?? this.ajv.compile({ $ref: pointer });
    this.validators.set(pointer, known);
    return known;
  }
}

// The validator is made at the first use, because most test files need none.
let shared: AnswerValidator | undefined;

export function assertValidAnswer(given: GivenAnswer): void {
  shared ??= new AnswerValidator();
  shared.assert(given);
}

const escaped = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));

/** Forbids unnamed fields in every object of the document, unless its schema allows them. */
function withoutOtherFields<T>(node: T): T {
  if (Array.isArray(node)) node.forEach(withoutOtherFields);
  else if (typeof node === 'object' && node !== null) {
    const schema = node as Schema;
    if (schema.type === 'object' || (Array.isArray(schema.type) && schema.type.includes('object')))
      if (schema.properties) schema.additionalProperties ??= false;
    Object.values(node).forEach(withoutOtherFields);
  }
  return node;
}
