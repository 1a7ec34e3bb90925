import { applyDecorators } from '@nestjs/common';
import { ApiResponse, getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import {
  ACCESS_EXTENSION,
  type Access,
  ErrorAnswer,
  NETWORK_EXTENSION,
  SCOPES_EXTENSION,
  scopesOf,
} from '#platform';
import { ATHLETE_HEADER, SPANS_EXTENSION } from '../athletes/known-athlete.guard.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Answers = Operation['responses'];
type Answer = NonNullable<Answers[string]>;

/** The security scheme of service keys. */
export const SERVICE_KEY = 'service-key';
/** The security schemes of a session: its cookie, and the token that writes need besides. */
export const SESSION = 'session';
export const CSRF_TOKEN = 'csrf-token';

const METHODS = ['get', 'put', 'post', 'patch', 'delete'] as const;
/** The schema of an error in JSON. */
const content = { 'application/json': { schema: { $ref: getSchemaPath(ErrorAnswer) } } };
const waiting = { 'Retry-After': { $ref: '#/components/headers/Retry-After' } };

const HEADERS = {
  'Retry-After': integer('Seconds to wait before the request is worth repeating'),
  'RateLimit-Limit': integer('Requests a minute'),
  'RateLimit-Remaining': integer('Requests that are left in this minute'),
  'RateLimit-Reset': integer('Seconds until the minute ends'),
};
const RATE_LIMIT = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

/** Errors of guards and hooks. These answer before the handlers, so no controller names the errors. */
const COMMON = {
  Invalid: {
    status: 400,
    description:
      'The request is malformed or has a value that is not allowed, or a service key has not named the athlete (`ATHLETE_REQUIRED`)',
  },
  Unauthenticated: {
    status: 401,
    description: 'The token, session or key is missing, wrong, expired or revoked',
  },
  Forbidden: {
    status: 403,
    description:
      'The token or session lacks `role: admin`, the service key lacks the scope, or a session’s request lacks `X-CSRF-Token` (`CSRF_TOKEN_MISSING`)',
  },
  NotFound: { status: 404, description: 'The athlete of `Pacekeeper-Athlete` is unknown' },
  BodyTooLarge: { status: 413, description: 'The body is larger than this route allows' },
  UnsupportedMediaType: { status: 415, description: 'The body is of another content type' },
  Throttled: {
    status: 429,
    description: 'The athlete, the service key or the network has used up the requests of this minute',
  },
  Unavailable: { status: 503, description: 'A server that this request needs does not answer; try again' },
};
type Common = keyof typeof COMMON;

const OTHER = { description: 'Any other error: 405, 408, 414, 417, 431 or 500', content };

// Shared answers that only counted requests get.
const COUNTED = ['Forbidden', 'Throttled'];

// Answers with `Retry-After`.
const TEMPORARY = ['429', '500', '503'];

/**
 * A handler's own errors, by status: `@Refuses({ 404: 'The athlete has no such import' })`. Leave out a status that
 * `withCommonAnswers` adds. Name such a status only if it has a further meaning on this route.
 */
export const Refuses = (
  answers: Readonly<Record<number, string>>,
  types: Readonly<Record<string, object>> = content,
) =>
  applyDecorators(
    ...Object.entries(answers).map(([status, description]) =>
      ApiResponse({
        status: Number(status),
        description,
        content: types,
        ...(TEMPORARY.includes(status) ? { headers: waiting } : {}),
      }),
    ),
  );

/**
 * Adds to each operation its security, and the answers that follow from its security, parameters and body. A controller's own
 * answers are kept.
 */
export function withCommonAnswers(document: OpenAPIObject): OpenAPIObject {
  for (const path of Object.values(document.paths))
    for (const method of METHODS) if (path[method]) complete(path[method], method.toUpperCase());
  document.components = { ...document.components, headers: HEADERS, responses: sharedAnswers() };
  return document;
}

interface Declared {
  [ACCESS_EXTENSION]?: Access;
  [SCOPES_EXTENSION]?: readonly string[];
  [SPANS_EXTENSION]?: boolean;
  [NETWORK_EXTENSION]?: boolean;
}

function complete(operation: Operation & Declared, method: string): void {
  const { [ACCESS_EXTENSION]: access, [SCOPES_EXTENSION]: scopes, [SPANS_EXTENSION]: spans } = operation;
  const isThrottled = access !== 'public' || operation[NETWORK_EXTENSION] === true;
  delete operation[ACCESS_EXTENSION];
  delete operation[SCOPES_EXTENSION];
  delete operation[SPANS_EXTENSION];
  delete operation[NETWORK_EXTENSION];
  const isPublic = access === 'public';
  const takesKey = access === undefined || access === 'service';
  operation.security ??= securityOf(access, method, scopesOf(method, { scopes }));
  if (takesKey) operation.parameters = [...(operation.parameters ?? []), athleteParameter(spans)];
  const names: Common[] = [
    ...(isPublic ? [] : (['Unauthenticated', 'Forbidden', 'Unavailable'] as const)),
    ...(isThrottled ? (['Throttled'] as const) : []),
    ...(takesKey ? (['Invalid', 'NotFound'] as const) : []),
    ...(operation.requestBody ? (['Invalid', 'BodyTooLarge', 'UnsupportedMediaType'] as const) : []),
    ...(takesText(operation) ? (['Invalid'] as const) : []),
  ];
  const shared = Object.fromEntries(
    names.map((name) => [COMMON[name].status, { $ref: `#/components/responses/${name}` }]),
  );
  const answers: Answers = { ...shared, ...operation.responses, default: OTHER };
  operation.responses = Object.fromEntries(
    Object.entries(answers).map(([status, answer = OTHER]) => [
      status,
      withHeaders(status, answer, isThrottled),
    ]),
  );
}

/** Any one of these admits. A service key needs one of the scopes; a write of a session needs the CSRF token, too. */
function securityOf(
  access: Access | undefined,
  method: string,
  scopes: readonly string[],
): Operation['security'] {
  if (access === 'public') return [];
  const token = { bearer: [] };
  const session = { [SESSION]: [], ...(method === 'GET' ? {} : { [CSRF_TOKEN]: [] }) };
  if (access === 'token') return [token];
  if (access === 'session') return [session];
  if (access === 'admin') return [token, session];
  const keys = scopes.map((scope) => ({ [SERVICE_KEY]: [scope] }));
  return access === 'service' ? keys : [token, session, ...keys];
}

function athleteParameter(spans = false): NonNullable<Operation['parameters']>[number] {
  const description = spans
    ? 'With a service key: the id of one athlete; without it, the request is about all athletes. Ignored with an athlete’s token'
    : 'With a service key: the id of the athlete whom the request is about. Required with a key; ignored with an athlete’s token';
  return {
    name: ATHLETE_HEADER,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string', format: 'uuid' },
  };
}

/** True if a path or query parameter may contain a character that is not allowed in a text. */
function takesText({ parameters = [] }: Operation): boolean {
  return parameters.some((one) => 'in' in one && (one.in === 'path' || one.in === 'query'));
}

/** Adds the rate-limit headers, but not to 401, 413 and 415, which may be sent before the request is counted. */
function withHeaders(status: string, answer: Answer, isCounted: boolean): Answer {
  if ('$ref' in answer) return answer;
  const headers = {
    ...answer.headers,
    ...(isCounted && !['401', '413', '415', 'default'].includes(status) ? rateLimitHeaders() : {}),
  };
  return { ...answer, ...(Object.keys(headers).length > 0 ? { headers } : {}) };
}

function sharedAnswers(): Record<string, Answer> {
  const entries = Object.entries(COMMON).map(([name, { status, description }]) => {
    const headers = TEMPORARY.includes(String(status)) ? { headers: waiting } : {};
    const answer = { description, content, ...headers };
    return [name, withHeaders(String(status), answer, COUNTED.includes(name))];
  });
  return Object.fromEntries(entries) as Record<string, Answer>;
}

function rateLimitHeaders(): Record<string, { $ref: string }> {
  return Object.fromEntries(RATE_LIMIT.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function integer(description: string) {
  return { description, schema: { type: 'integer' as const, minimum: 0 } };
}
