import { type z } from 'zod';
import { type Config, configFrom } from './config.js';
import { environment, environmentSchema, foreignNames } from './environment.js';
import { nearestName } from './nearest-name.js';

/** Every problem of the environment at once: a person mends them in one go instead of one per restart. */
export class ConfigInvalid extends Error {
  readonly code = 'CONFIG.INVALID';
  constructor(readonly problems: readonly string[]) {
    super(
      `Configuration has ${problems.length} problem${problems.length === 1 ? '' : 's'}:\n  ${problems.join('\n  ')}`,
    );
    this.name = 'ConfigInvalid';
  }
}

type RawEnvironment = Readonly<Record<string, string | undefined>>;

export function loadConfig(raw: RawEnvironment): Config {
  const set = withoutEmpty(raw);
  const parsed = environmentSchema.safeParse(set);
  const problems = [
    ...(parsed.success ? [] : parsed.error.issues.map((issue) => sentence(issue, set))),
    ...missingTogether(set),
    ...tooFast(set),
    ...misspelt(set),
  ];
  if (!parsed.success || problems.length > 0) throw new ConfigInvalid(problems);
  return configFrom(parsed.data);
}

/** `NAME=` in an env file means "not set"; the line end that a secret's file brings along is not part of the secret. */
function withoutEmpty(raw: RawEnvironment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(raw).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])),
  );
}

/** Names the variable and what is wrong with it, never the value: it may be a secret. */
function sentence(issue: z.core.$ZodIssue, set: Record<string, string>): string {
  const name = String(issue.path[0]);
  return `${name}: ${set[name] === undefined ? 'is required' : issue.message}`;
}

const vendorVariables: ReadonlyArray<readonly [first: string, ...rest: string[]]> = [
  ['STRAVA_CLIENT_ID', 'STRAVA_CLIENT_SECRET', 'STRAVA_WEBHOOK_VERIFY_TOKEN', 'STRAVA_WEBHOOK_PATH_SECRET'],
  ['OURA_CLIENT_ID', 'OURA_CLIENT_SECRET'],
  ['WHOOP_CLIENT_ID', 'WHOOP_CLIENT_SECRET'],
];

function missingTogether(set: Record<string, string>): string[] {
  const vendors = vendorVariables.flatMap(([first, ...rest]) =>
    set[first] ? rest.filter((name) => !set[name]).map((name) => `${name}: is required with ${first}`) : [],
  );
  const secrets = vendorVariables.flatMap(([id, secret]) =>
    secret && set[secret] && !set[id] ? [`${id}: is required with ${secret}`] : [],
  );
  return [...tokenKeys(set), ...vendors, ...secrets];
}

function tokenKeys(set: Record<string, string>): string[] {
  if (!set.JWT_SECRET && !set.JWKS_URL) return ['JWT_SECRET: is required (or JWKS_URL)'];
  if (set.JWT_SECRET && set.JWKS_URL)
    return ['JWT_SECRET: cannot be combined with JWKS_URL, set one of them'];
  // An issuer signs for many: without an audience we would take what it made for somebody else's app.
  return ['JWT_ISSUER', 'JWT_AUDIENCE']
    .filter((name) => set.JWKS_URL && !set[name])
    .map((name) => `${name}: is required with JWKS_URL`);
}

const REAL_VENDORS = { STRAVA: 'www.strava.com', OURA: 'api.ouraring.com', WHOOP: 'api.prod.whoop.com' };

/** Real vendors keep real time: windows a hundred times shorter than theirs would break their limits within a minute. */
function tooFast(set: Record<string, string>): string[] {
  if ((set.TIME_SCALE ?? '1') === '1') return [];
  return Object.entries(REAL_VENDORS).flatMap(([vendor, host]) => {
    const url = set[`${vendor}_API_URL`] ?? `https://${host}`;
    const isReal = set[`${vendor}_CLIENT_ID`] && URL.canParse(url) && new URL(url).host === host;
    return isReal ? [`TIME_SCALE: must be 1 as long as ${vendor}_API_URL is the real ${host}`] : [];
  });
}

function misspelt(set: Record<string, string>): string[] {
  const known = [...Object.keys(environment), ...foreignNames];
  return Object.keys(set)
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const meant = nearestName(name, known);
      return meant ? [`${name}: unknown, did you mean ${meant}?`] : [];
    });
}
