import { z } from 'zod';
import { type HttpAnswer } from './http.js';

export interface Tokens {
  readonly access: string;
  /** Absent: the refresh token that was used stays valid. */
  readonly refresh?: string;
  /** The end of the access token as the vendor reports it, absolute or relative. The relative end wins, because it needs no equal clocks. */
  readonly expiresAtSeconds?: number;
  readonly expiresInSeconds?: number;
}

export type TokenAnswer =
  | {
      readonly kind: 'granted';
      readonly tokens: Tokens;
      readonly scope?: string;
      readonly vendorAthleteId?: string;
    }
  /** The vendor rejects the code or refresh token. */
  | { readonly kind: 'refused' }
  /** The vendor rejects this app: wrong client, inactive, or full. The athlete's grant is not affected. */
  | { readonly kind: 'app_refused'; readonly status: number }
  | Unclear;

/** It is unknown whether the vendor acted: no answer, a 5xx, or an answer of an unknown format. */
export interface Unclear {
  readonly kind: 'unclear';
  readonly status?: number;
  readonly cause?: unknown;
}

const text = z.string().min(1).max(4_096);
const seconds = z.number().finite().min(0).max(1e11);
export const vendorId = z
  .union([z.int().nonnegative(), z.string().regex(/^[\w-]{1,128}$/)])
  .transform((id) => String(id));
const tokenAnswer = z
  .object({
    access_token: text,
    refresh_token: text.nullish(),
    expires_at: seconds.nullish(),
    expires_in: seconds.nullish(),
    scope: z.string().max(4_096).nullish(),
  })
  .refine(({ expires_at, expires_in }) => (expires_at ?? expires_in) != null);

const refusal = z.object({
  error: z.string().optional().catch(undefined),
  errors: z
    .array(z.object({ resource: z.string().optional().catch(undefined) }))
    .optional()
    .catch(undefined),
});
// All errors of RFC 6749 §5.2 except invalid_grant concern the app or its request. Some vendors name a resource instead.
const APP_ERRORS = [
  'invalid_client',
  'unauthorized_client',
  'invalid_request',
  'invalid_scope',
  'unsupported_grant_type',
];

/**
 * Interprets the answer of a token endpoint. Only a clear refusal is `refused` or `app_refused`; every unknown answer is `unclear`.
 * `accountField` is the path of the athlete's id in the answer.
 */
export function readTokenAnswer({ status, body }: HttpAnswer, accountField?: readonly string[]): TokenAnswer {
  const json = parseVendorJson(body);
  if (status === 200 || status === 201) return granted(json, status, accountField);
  if (status === 403) return { kind: 'app_refused', status };
  if (status !== 400 && status !== 401) return { kind: 'unclear', status };
  const { data } = refusal.safeParse(json);
  // Not JSON: the page of a proxy rather than the vendor's answer.
  if (!data) return { kind: 'unclear', status };
  const isAboutApp =
    APP_ERRORS.includes(data.error ?? '') ||
    (data.errors?.some(({ resource }) => resource === 'Application') ?? false);
  return isAboutApp ? { kind: 'app_refused', status } : { kind: 'refused' };
}

function granted(json: unknown, status: number, accountField?: readonly string[]): TokenAnswer {
  const { data } = tokenAnswer.safeParse(json);
  if (!data) return { kind: 'unclear', status };
  return {
    kind: 'granted',
    tokens: {
      access: data.access_token,
      refresh: data.refresh_token ?? undefined,
      expiresAtSeconds: data.expires_at ?? undefined,
      expiresInSeconds: data.expires_in ?? undefined,
    },
    scope: data.scope ?? undefined,
    vendorAthleteId: accountField && vendorId.safeParse(valueAt(json, accountField)).data,
  };
}

function valueAt(json: unknown, path: readonly string[]): unknown {
  return path.reduce((value, name) => z.record(z.string(), z.unknown()).safeParse(value).data?.[name], json);
}

// A string or a number. A string is matched as a whole, so that digits inside it are skipped.
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LARGE_INTEGER = /^-?\d{16,}$/;

/** Parses JSON. Integers of 16 digits and more become strings, since a number would lose digits. Undefined if it is not JSON. */
export function parseVendorJson(body: Buffer): unknown {
  const quoted = body
    .toString('utf8')
    .replace(STRING_OR_NUMBER, (token) => (LARGE_INTEGER.test(token) ? `"${token}"` : token));
  try {
    return JSON.parse(quoted) as unknown;
  } catch {
    return undefined;
  }
}
