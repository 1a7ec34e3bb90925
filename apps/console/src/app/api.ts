import createClient, { type Middleware } from 'openapi-fetch';
import { type components, type paths } from '../api/schema.js';
import { Problem } from './problem.js';
import { reachability } from './reachability.js';

/** A schema of the OpenAPI document: `Schema<'ActivityAnswer'>`. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

let csrfToken: string | undefined;

/** The session's token, which every write must carry. It is kept in memory only. */
export function setCsrfToken(token: string | undefined): void {
  csrfToken = token;
}

const csrf: Middleware = {
  onRequest({ request }) {
    const isWrite = request.method !== 'GET' && request.method !== 'HEAD';
    if (isWrite && csrfToken) request.headers.set('x-csrf-token', csrfToken);
    return request;
  },
};

async function send(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    reachability.set(true);
    return response;
  } catch (error) {
    if (request.signal.aborted) throw error;
    reachability.set(false);
    throw Problem.unreachable();
  }
}

/** The API's client. The browser sends the session's cookie by itself. */
export const api = createClient<paths>({ baseUrl: window.location.origin, fetch: send });
api.use(csrf);

/** Names the athlete whom an operator's `/v1` request is about. Without an id, the request is about the caller. */
export function onBehalfOf(athleteId: string | undefined): { headers: Record<string, string> } {
  return { headers: athleteId ? { 'Pacekeeper-Athlete': athleteId } : {} };
}

interface Outcome<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

/** The body of a successful answer. Any other answer is thrown as a Problem, which is the type of `error` in every query and mutation. */
export async function answerOf<Data>(request: Promise<Outcome<Data>>): Promise<Data> {
  const { data, error, response } = await request.catch((thrown: unknown) => {
    throw Problem.from(thrown);
  });
  if (!response.ok) throw Problem.of(response.status, error);
  return data as Data;
}
