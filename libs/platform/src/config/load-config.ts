import { z } from 'zod';
import { longestWaitMs } from '../nats/event-lifetime.js';
import { isPrivateLiteral } from '../net/public-addresses.js';
import { type Config, configFrom } from './config.js';
import { environment, type Environment, foreignNames } from './environment.js';
import { refusesUnsafe, unsafeSettings } from './unsafe-settings.js';
import {
  requiredWithClient,
  urlsOf,
  variablesOf,
  type VendorConfigs,
  vendorConfigs,
  type VendorTable,
} from './vendor-settings.js';

/** Lists all problems of the environment, so that an operator can correct them before the next start. */
export class ConfigInvalid extends Error {
  readonly code = 'CONFIG_INVALID';
  constructor(readonly problems: readonly string[]) {
    super(
      `Configuration has ${problems.length} problem${problems.length === 1 ? '' : 's'}:\n  ${problems.join('\n  ')}`,
    );
    this.name = 'ConfigInvalid';
  }
}

const DAY_MS = 86_400_000;

type RawEnvironment = Readonly<Record<string, string | undefined>>;

/** Parses the environment, the vendors' variables included. Throws ConfigInvalid with every problem; no message contains a value. */
export function loadConfig<Table extends VendorTable>(
  raw: RawEnvironment,
  vendors: Table,
): Config<VendorConfigs<Table>> {
  const set = withoutEmpty(raw);
  const variables = variablesOf(vendors);
  const own = z.object(environment).safeParse(set);
  const theirs = z.object(variables).safeParse(set);
  const unsafe = unsafeSettings(set, vendors);
  const problems = [
    ...[own, theirs].flatMap(({ error }) => error?.issues.map((issue) => sentence(issue, set)) ?? []),
    ...tokenKeys(set),
    ...missingTogether(set, vendors),
    ...tooFast(set, vendors),
    ...(own.success ? forgottenTooSoon(own.data) : []),
    ...privateVendors(set, vendors),
    ...misspelt(set, [...Object.keys(environment), ...Object.keys(variables), ...foreignNames]),
    ...(refusesUnsafe(set) ? unsafe : []),
  ];
  if (!own.success || !theirs.success || problems.length > 0) throw new ConfigInvalid(problems);
  return configFrom(own.data, vendorConfigs(vendors, theirs.data), unsafe);
}

/** Treats `NAME=` as not set, and removes the line end of a secret that was read from a file. */
function withoutEmpty(raw: RawEnvironment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(raw).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])),
  );
}

/** Names the variable and its problem. The value may be a secret, so the text never contains the value. */
function sentence(issue: z.core.$ZodIssue, set: Record<string, string>): string {
  const name = String(issue.path[0]);
  return `${name}: ${set[name] === undefined ? 'is required' : issue.message}`;
}

function missingTogether(set: Record<string, string>, vendors: VendorTable): string[] {
  const all = Object.values(vendors);
  const missing = all.flatMap((settings) => {
    const id = `${settings.prefix}_CLIENT_ID`;
    if (!set[id]) return [];
    const names = requiredWithClient(settings).filter((name) => !set[name]);
    return names.map((name) => `${name}: is required with ${id}`);
  });
  const ids = all.flatMap(({ prefix }) => {
    const [id, secret] = [`${prefix}_CLIENT_ID`, `${prefix}_CLIENT_SECRET`];
    return set[secret] && !set[id] ? [`${id}: is required with ${secret}`] : [];
  });
  return [...missing, ...ids];
}

function tokenKeys(set: Record<string, string>): string[] {
  if (!set.JWT_SECRET && !set.JWKS_URL) return ['JWT_SECRET: is required (or JWKS_URL)'];
  if (set.JWT_SECRET && set.JWKS_URL)
    return ['JWT_SECRET: cannot be combined with JWKS_URL, set one of them'];
  // An issuer signs tokens for many apps. Without an audience, we would accept tokens for another app.
  return ['JWT_ISSUER', 'JWT_AUDIENCE']
    .filter((name) => set.JWKS_URL && !set[name])
    .map((name) => `${name}: is required with JWKS_URL`);
}

/** A vendor with https is on the internet, so a literal address must be public. Host names are checked when they are looked up. */
function privateVendors(set: Record<string, string>, vendors: VendorTable): string[] {
  return [...Object.values(vendors).flatMap(urlsOf), 'BROKER_URL'].flatMap((name) => {
    const text = set[name] ?? '';
    if (!text.startsWith('https:') || !URL.canParse(text)) return [];
    return isPrivateLiteral(new URL(text).hostname)
      ? [`${name}: must lead to a public address over https`]
      : [];
  });
}

/** TIME_SCALE shortens our rate-limit windows. With a real vendor, our calls would exceed the limits of the vendor within a minute. */
function tooFast(set: Record<string, string>, vendors: VendorTable): string[] {
  if ((set.TIME_SCALE ?? '1') === '1') return [];
  return Object.values(vendors).flatMap(({ prefix, apiUrl }) => {
    const url = set[`${prefix}_API_URL`] ?? apiUrl;
    const isReal = set[`${prefix}_CLIENT_ID`] && URL.canParse(url) && domainOf(url) === domainOf(apiUrl);
    return isReal
      ? [`TIME_SCALE: must be 1 as long as ${prefix}_API_URL is the real ${new URL(url).host}`]
      : [];
  });
}

/**
 * A receipt has to outlast the longest wait of an event, because until then it answers a second request to delete the account.
 */
function forgottenTooSoon({ RECEIPTS_RETENTION_DAYS, DLQ_RETENTION_DAYS }: Environment): string[] {
  const least = longestWaitMs({ dlqRetentionDays: DLQ_RETENTION_DAYS }) / DAY_MS;
  return RECEIPTS_RETENTION_DAYS < least
    ? [`RECEIPTS_RETENTION_DAYS: must be at least 15 more than DLQ_RETENTION_DAYS, so at least ${least}`]
    : [];
}

/** The last two labels of the host name: a vendor may move its API to another host of its domain, as Strava does in 2027. */
const domainOf = (url: string) => new URL(url).hostname.split('.').slice(-2).join('.');

function misspelt(set: Record<string, string>, known: readonly string[]): string[] {
  return Object.keys(set)
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const nearest = nearestName(name, known);
      return nearest ? [`${name}: unknown, did you mean ${nearest}?`] : [];
    });
}

// Short names get no suggestions: PATH and PORT differ by two letters.
const SHORTEST_NAME = 7;
const MOST_EDITS = 2;

/** Returns the candidate nearest to `name`, if it is at most two edits away. Ignores case. */
function nearestName(name: string, candidates: readonly string[]): string | undefined {
  if (name.length < SHORTEST_NAME) return undefined;
  const ranked = candidates
    .filter((candidate) => candidate.length >= SHORTEST_NAME)
    .map((candidate) => ({ candidate, edits: editDistance(name.toUpperCase(), candidate) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best && best.edits <= MOST_EDITS ? best.candidate : undefined;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length] ?? a.length;
}
