import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ERROR_CODES } from '../../apps/api/src/openapi/error-codes.js';
import { type Operation, operationsOf, readDocument, type Schema } from '../harness/openapi-document.js';
import { documentedCodes } from '../harness/error-codes.js';

const REDOCLY = path.resolve('node_modules/@redocly/cli/bin/cli.js');
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

const document = readDocument();
const operations = operationsOf(document);
/** The places of the operations for which `fits` is true. */
const placesWhere = (fits: (operation: Operation) => boolean) =>
  operations.filter(([, operation]) => fits(operation)).map(([place]) => place);

/** Every schema of the document with its place in it. */
function* schemasIn(node: unknown, at = ''): Generator<[string, Schema]> {
  if (typeof node !== 'object' || node === null) return;
  if ('type' in node || '$ref' in node) yield [at, node as Schema];
  for (const [key, value] of Object.entries(node)) yield* schemasIn(value, `${at}/${key}`);
}

describe('the OpenAPI document', () => {
  it('openapi.json passes redocly lint without an error or a warning', () => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [REDOCLY, 'lint', 'docs/openapi.json', '--format=json'],
      { encoding: 'utf8', env: { ...process.env, ...QUIET } },
    );
    const found = /^\{[^]*\n\}/m.exec(stdout)?.[0];
    expect(found ?? stderr).toMatch(/^\{/);
    const { totals, problems } = JSON.parse(found ?? '') as { totals: object; problems: readonly object[] };
    expect(problems).toEqual([]);
    expect(totals).toMatchObject({ errors: 0, warnings: 0 });
  });

  it('openapi.json is OpenAPI 3.1 with the version of the package, a server and no keyword of 3.0', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe(version);
    expect(document.servers.length).toBeGreaterThan(0);
    expect(JSON.stringify(document)).not.toContain('"nullable"');
    expect(JSON.stringify(document)).not.toContain('"x-access"');
  });

  it('openapi.json gives every operation a summary, a description, one known tag and security or []', () => {
    const tags = document.tags.map(({ name }) => name);
    expect(placesWhere(({ summary, description }) => !summary || !description)).toEqual([]);
    expect(placesWhere((operation) => operation.tags?.length !== 1)).toEqual([]);
    expect(placesWhere(({ tags: own = [] }) => !tags.includes(own[0] ?? ''))).toEqual([]);
    expect(placesWhere(({ security }) => !Array.isArray(security))).toEqual([]);
  });

  it('openapi.json describes and uses every tag, and lists the tags for apps first and the tag for vendors last', () => {
    expect(document.tags.filter(({ description }) => !description)).toEqual([]);
    const used = new Set(operations.flatMap(([, { tags = [] }]) => tags));
    const names = document.tags.map(({ name }) => name);
    expect(new Set(names)).toEqual(used);
    expect(names.slice(0, 2)).toEqual(['connections', 'activities']);
    expect(names.at(-1)).toBe('vendor webhooks');
  });

  it('openapi.json gives every operation a unique id in the form of a function name, like listActivities', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[a-z]+([A-Z][a-z]*)*$/.test(id))).toEqual([]);
  });

  it('openapi.json has no schema named Object and no parameter without a type', () => {
    expect(Object.keys(document.components.schemas)).not.toContain('Object');
    const untyped = operations.flatMap(([place, { parameters = [] }]) =>
      parameters.filter(({ schema }) => !schema.type).map(({ name }) => `${place}: ${name}`),
    );
    expect(untyped).toEqual([]);
  });

  it('openapi.json gives every count and every number of seconds to wait the type integer', () => {
    const counted = /^(limit|points|wait|seq|.*_count|count|attempts|max_attempts|.*_imported|.*_total)$/;
    const fields = Object.entries(document.components.schemas).flatMap(([schema, { properties = {} }]) =>
      Object.entries(properties).map(([name, type]) => [`${schema}.${name}`, name, type] as const),
    );
    const parameters = operations.flatMap(([place, { parameters: own = [] }]) =>
      own.map(({ name, schema }) => [`${place}: ${name}`, name, schema] as const),
    );
    const wrong = [...fields, ...parameters]
      .filter(([, name]) => counted.test(name))
      .filter(([, , { type = [] }]) => ![type].flat().includes('integer'));
    expect(wrong.map(([place]) => place)).toEqual([]);
  });

  it('openapi.json describes the properties of every object and the items of every array', () => {
    const open = [...schemasIn(document.components.schemas)].filter(
      ([, schema]) =>
        (schema.type === 'object' && !schema.properties && schema.additionalProperties === undefined) ||
        (schema.type === 'array' && !('items' in schema)),
    );
    expect(open.map(([at]) => at)).toEqual([]);
  });

  it('openapi.json lists 401, 429 and 503 for every operation with a token, and 403 for operators’ operations', () => {
    const wantsToken = ({ security = [] }: Operation) => security.some((one) => 'bearer' in one);
    const lacks = (...statuses: string[]) =>
      placesWhere(
        (operation) => wantsToken(operation) && statuses.some((status) => !operation.responses[status]),
      );
    expect(lacks('401', '429', '503')).toEqual([]);
    expect(lacks('403').filter((place) => place.includes(' /admin/'))).toEqual([]);
    expect(placesWhere(wantsToken).filter((place) => / \/(health|webhooks|addon|oauth)/.test(place))).toEqual(
      [],
    );
  });

  it('openapi.json lists 400, 413 and 415 for every operation with a body', () => {
    const lacking = placesWhere(
      ({ requestBody, responses }) =>
        requestBody !== undefined && ['400', '413', '415'].some((status) => !responses[status]),
    );
    expect(lacking).toEqual([]);
  });

  it('openapi.json lists the RateLimit headers on every successful answer to a request with a token', () => {
    const lacking = placesWhere(
      ({ security = [], responses }) =>
        security.some((one) => 'bearer' in one) &&
        Object.entries(responses).some(
          ([status, { headers = {} }]) => /^[23]/.test(status) && !('RateLimit-Remaining' in headers),
        ),
    );
    expect(lacking).toEqual([]);
  });

  it('openapi.json describes every route of server-sent events as text/event-stream, and no other route', () => {
    const typesOf = ({ responses }: Operation) => Object.keys(responses[200]?.content ?? {});
    const streams = operations.filter(([, operation]) => typesOf(operation).includes('text/event-stream'));
    expect(streams.map(([place, operation]) => [place, typesOf(operation)])).toEqual(
      ['GET /v1/imports/{id}/events', 'GET /v1/events', 'GET /admin/events'].map((place) => [
        place,
        ['text/event-stream'],
      ]),
    );
  });

  it('openapi.json lists the add-on’s routes only without {session}', () => {
    expect(Object.keys(document.paths).filter((one) => one.startsWith('/addon/{session}'))).toEqual([]);
  });

  it('openapi.json lists exactly the error codes of docs/errors.md', () => {
    expect([...ERROR_CODES].sort()).toEqual([...documentedCodes().answered].sort());
    expect(document.components.schemas['ErrorAnswer']?.properties['code']).toMatchObject({
      enum: ERROR_CODES,
    });
  });
});
