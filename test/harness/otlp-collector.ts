import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Ajv2020 } from 'ajv/dist/2020.js';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: ReadonlyArray<{
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
  }>;
  readonly status: { readonly code?: number };
}

interface ExportRequest {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: { readonly attributes: Span['attributes'] };
    readonly scopeSpans: ReadonlyArray<{ readonly spans: readonly Span[] }>;
  }>;
}

type ReceivedSpan = Span & { readonly service: string };

const whole = { type: 'integer', minimum: 0, maximum: 0xffffffff };
const traceId = { type: 'string', pattern: '^(?!0{32})[0-9a-f]{32}$' };
const spanId = { type: 'string', pattern: '^(?!0{16})[0-9a-f]{16}$' };
const nanos = { type: 'string', pattern: '^[1-9][0-9]{18}$' };
const attributes = { type: 'array', items: { $ref: '#/$defs/keyValue' } };
const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

/**
 * ExportTraceServiceRequest of OTLP 1.x in its JSON encoding: names in camel case, ids in hex, 64-bit times as text, enums as numbers. No
 * other field is allowed, so that a field which a collector would ignore is noticed.
 */
const SCHEMA = {
  ...object({ resourceSpans: { type: 'array', minItems: 1, items: { $ref: '#/$defs/resourceSpans' } } }, [
    'resourceSpans',
  ]),
  $defs: {
    resourceSpans: object(
      {
        resource: object({ attributes, droppedAttributesCount: whole }, ['attributes']),
        scopeSpans: { type: 'array', minItems: 1, items: { $ref: '#/$defs/scopeSpans' } },
        schemaUrl: { type: 'string' },
      },
      ['resource', 'scopeSpans'],
    ),
    scopeSpans: object(
      {
        scope: object(
          {
            name: { type: 'string', minLength: 1 },
            version: { type: 'string' },
            attributes,
            droppedAttributesCount: whole,
          },
          ['name'],
        ),
        spans: { type: 'array', minItems: 1, items: { $ref: '#/$defs/span' } },
        schemaUrl: { type: 'string' },
      },
      ['scope', 'spans'],
    ),
    span: object(
      {
        traceId,
        spanId,
        traceState: { type: 'string' },
        parentSpanId: spanId,
        flags: whole,
        name: { type: 'string', minLength: 1 },
        kind: { enum: [1, 2, 3, 4, 5] },
        startTimeUnixNano: nanos,
        endTimeUnixNano: nanos,
        attributes,
        droppedAttributesCount: whole,
        events: {
          type: 'array',
          items: object(
            { timeUnixNano: nanos, name: { type: 'string' }, attributes, droppedAttributesCount: whole },
            ['timeUnixNano', 'name'],
          ),
        },
        droppedEventsCount: whole,
        links: {
          type: 'array',
          items: object(
            {
              ...{ traceId, spanId, attributes, flags: whole, droppedAttributesCount: whole },
              traceState: { type: 'string' },
            },
            ['traceId', 'spanId'],
          ),
        },
        droppedLinksCount: whole,
        status: object({ code: { enum: [0, 1, 2] }, message: { type: 'string' } }),
      },
      ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'],
    ),
    keyValue: object({ key: { type: 'string', minLength: 1 }, value: { $ref: '#/$defs/anyValue' } }, [
      'key',
      'value',
    ]),
    anyValue: {
      ...object({
        stringValue: { type: 'string' },
        boolValue: { type: 'boolean' },
        intValue: { type: ['integer', 'string'], pattern: '^-?[0-9]+$' },
        doubleValue: { type: 'number' },
        arrayValue: object({ values: { type: 'array', items: { $ref: '#/$defs/anyValue' } } }),
        kvlistValue: object({ values: attributes }),
        bytesValue: { type: 'string' },
      }),
      maxProperties: 1,
    },
  },
};

const isExportRequest = new Ajv2020({ strictTypes: false, allErrors: true }).compile<ExportRequest>(SCHEMA);

/** The reasons why a body is no valid OTLP request; none if it is. */
export function problemsOf(body: unknown): string[] {
  if (!isExportRequest(body))
    return (isExportRequest.errors ?? []).map(
      ({ instancePath, message }) => `${instancePath || '/'} ${message}`,
    );
  return spansOf(body).flatMap(
    ({ name, attributes: all, startTimeUnixNano: start, endTimeUnixNano: end }) => [
      ...(BigInt(end) < BigInt(start) ? [`${name} ends before it starts`] : []),
      ...(new Set(all.map(({ key }) => key)).size < all.length ? [`${name} has an attribute twice`] : []),
    ],
  );
}

function spansOf({ resourceSpans }: ExportRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const named = resource.attributes.find(({ key }) => key === 'service.name');
    const service = named?.value.stringValue ?? '';
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ ...span, attributes: span.attributes ?? [], service })),
    );
  });
}

/** A server that receives spans over OTLP/HTTP in JSON, like an OpenTelemetry collector. It refuses, and remembers, what is no OTLP. */
export class OtlpCollector {
  readonly spans: ReceivedSpan[] = [];
  readonly problems: string[] = [];
  /** The bodies as they arrived. */
  text = '';
  private readonly server: Server = createServer((incoming, answer) => {
    void incoming.toArray().then((chunks: Buffer[]) => {
      const text = Buffer.concat(chunks).toString();
      const found = this.read(`${incoming.method} ${incoming.url}`, incoming.headers['content-type'], text);
      this.problems.push(...found);
      answer.statusCode = found.length > 0 ? 400 : 200;
      answer.setHeader('content-type', 'application/json').end('{}');
    });
  });

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
  }

  private read(request: string, type: string | undefined, text: string): string[] {
    if (request !== 'POST /v1/traces') return [`request was ${request}`];
    if (type !== 'application/json') return [`content type is ${type}`];
    this.text += text;
    const body: unknown = JSON.parse(text);
    const problems = problemsOf(body);
    if (problems.length === 0) this.spans.push(...spansOf(body as ExportRequest));
    return problems;
  }
}
