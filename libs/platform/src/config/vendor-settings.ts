import { type z } from 'zod';
import { http, text } from './schemas.js';

/** A variable that only this vendor has, such as a webhook secret. */
interface VendorVariable {
  /** The full name, such as `STRAVA_RETENTION_DAYS`. */
  readonly variable: string;
  readonly schema: z.ZodType;
  /** Required if the vendor's client is configured. */
  readonly isRequiredWithClient?: true;
  /** A secret that the operator generates: a guessable one is refused in production. */
  readonly isMadeByUs?: true;
}

/**
 * The variables of one vendor. Each vendor has `<prefix>_API_URL`, `<prefix>_OAUTH_URL`, `<prefix>_CLIENT_ID`, `<prefix>_CLIENT_SECRET`, and
 * `<prefix>_TOKEN_URL` if `tokenUrl` is given.
 */
export interface VendorSettings {
  readonly prefix: string;
  /** The default of `<prefix>_API_URL`. All hosts of its domain are the real vendor's. */
  readonly apiUrl: string;
  readonly oauthUrl: string;
  /** For a vendor whose token endpoint has a host of its own. */
  readonly tokenUrl?: string;
  /** By their names in the configuration. */
  readonly extras: Readonly<Record<string, VendorVariable>>;
}

/** The settings of all vendors, by the vendor's id. */
export type VendorTable = Readonly<Record<string, VendorSettings>>;

export interface VendorConfig {
  readonly apiUrl: string;
  readonly oauthUrl: string;
  readonly tokenUrl?: string;
  /** Absent: this vendor is not offered to athletes. */
  readonly client?: { readonly id: string; readonly secret: string };
}

/** The configuration of a vendor, with its extras. */
type VendorConfigOf<Settings extends VendorSettings> = VendorConfig & {
  readonly [Name in keyof Settings['extras']]: z.output<Settings['extras'][Name]['schema']>;
};

export type VendorConfigs<Table extends VendorTable> = {
  readonly [Id in keyof Table]: VendorConfigOf<Table[Id]>;
};

type Parsed = Readonly<Record<string, unknown>>;

/** Returns the schema of every variable of these vendors. */
export function variablesOf(vendors: VendorTable): Record<string, z.ZodType> {
  return Object.assign({}, ...Object.values(vendors).map(variablesOfOne)) as Record<string, z.ZodType>;
}

function variablesOfOne({
  prefix,
  apiUrl,
  oauthUrl,
  tokenUrl,
  extras,
}: VendorSettings): Record<string, z.ZodType> {
  const own = Object.values(extras).map(({ variable, schema }) => [variable, schema] as const);
  return {
    [`${prefix}_API_URL`]: http.default(apiUrl),
    [`${prefix}_OAUTH_URL`]: http.default(oauthUrl),
    ...(tokenUrl !== undefined && { [`${prefix}_TOKEN_URL`]: http.default(tokenUrl) }),
    [`${prefix}_CLIENT_ID`]: text.optional(),
    [`${prefix}_CLIENT_SECRET`]: text.optional(),
    ...Object.fromEntries(own),
  };
}

/** Returns the names of the variables that hold a URL of this vendor. */
export function urlsOf({ prefix, tokenUrl }: VendorSettings): string[] {
  const names = ['API_URL', 'OAUTH_URL', ...(tokenUrl === undefined ? [] : ['TOKEN_URL'])];
  return names.map((name) => `${prefix}_${name}`);
}

/** Returns the names of the variables that must be set with `<prefix>_CLIENT_ID`, the client's secret first. */
export function requiredWithClient({ prefix, extras }: VendorSettings): string[] {
  const required = Object.values(extras).filter((extra) => extra.isRequiredWithClient);
  return [`${prefix}_CLIENT_SECRET`, ...required.map(({ variable }) => variable)];
}

/** Returns the names of the variables whose secrets the operator generates. */
export function secretsMadeByUs(vendors: VendorTable): string[] {
  const extras = Object.values(vendors).flatMap((settings) => Object.values(settings.extras));
  return extras.filter((extra) => extra.isMadeByUs).map(({ variable }) => variable);
}

/** Picks the vendors' configurations from the parsed variables. */
export function vendorConfigs<Table extends VendorTable>(vendors: Table, env: Parsed): VendorConfigs<Table> {
  const entries = Object.entries(vendors).map(([id, settings]) => [id, vendorConfig(settings, env)] as const);
  return Object.fromEntries(entries) as VendorConfigs<Table>;
}

function vendorConfig({ prefix, tokenUrl, extras }: VendorSettings, env: Parsed): VendorConfig {
  const own = (name: string) => env[`${prefix}_${name}`] as string;
  const [id, secret] = [own('CLIENT_ID'), own('CLIENT_SECRET')];
  return {
    apiUrl: own('API_URL'),
    oauthUrl: own('OAUTH_URL'),
    ...(tokenUrl !== undefined && { tokenUrl: own('TOKEN_URL') }),
    client: id && secret ? { id, secret } : undefined,
    ...Object.fromEntries(Object.entries(extras).map(([name, { variable }]) => [name, env[variable]])),
  };
}
