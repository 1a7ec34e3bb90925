import { secretsMadeByUs, urlsOf, type VendorTable } from './vendor-settings.js';
import { weakSecrets } from './weak-secrets.js';

type SetVariables = Readonly<Record<string, string>>;

/**
 * Settings that prevent the start under NODE_ENV=production. ALLOW_UNSAFE=1 makes them warnings. Outside of production only those that
 * a developer should know of are warnings: a clear-text URL and a fast clock are normal there.
 *
 * Not found: a strong secret that is public, and a private vendor behind a public name.
 */
export function unsafeSettings(set: SetVariables, vendors: VendorTable): string[] {
  const everywhere = [
    ...missingIssuer(set),
    ...openToOwnNetwork(set),
    ...weakSecrets(set, secretsMadeByUs(vendors)),
  ];
  if (set.NODE_ENV !== 'production') return everywhere;
  return [...everywhere, ...publicUrl(set), ...fastClock(set), ...clearTextVendors(set, vendors)];
}

/** True if the start must be refused for an unsafe setting. */
export function refusesUnsafe(set: SetVariables): boolean {
  return set.NODE_ENV === 'production' && set.ALLOW_UNSAFE !== '1' && set.ALLOW_UNSAFE !== 'on';
}

function missingIssuer(set: SetVariables): string[] {
  return ['JWT_ISSUER', 'JWT_AUDIENCE']
    .filter((name) => set.JWT_SECRET && !set[name])
    .map((name) => `${name}: is required with JWT_SECRET under NODE_ENV=production`);
}

function openToOwnNetwork(set: SetVariables): string[] {
  return set.WEBHOOKS_ALLOW_PRIVATE === '1'
    ? ['WEBHOOKS_ALLOW_PRIVATE: must not be 1 under NODE_ENV=production: apps could reach your own network']
    : [];
}

/** Cookies, consents and vendors' webhooks pass under this URL. */
function publicUrl(set: SetVariables): string[] {
  if (/^https:/i.test(set.PUBLIC_URL ?? '')) return [];
  const problem = set.PUBLIC_URL ? 'must be https' : 'is required';
  return [`PUBLIC_URL: ${problem} under NODE_ENV=production: sign-ins and vendors' webhooks use it`];
}

function fastClock(set: SetVariables): string[] {
  return (set.TIME_SCALE ?? '1') === '1'
    ? []
    : ['TIME_SCALE: must be 1 under NODE_ENV=production: it is for simulated vendors'];
}

function clearTextVendors(set: SetVariables, vendors: VendorTable): string[] {
  return Object.values(vendors)
    .flatMap(urlsOf)
    .filter((name) => /^http:/i.test(set[name] ?? ''))
    .map((name) => `${name}: must be https under NODE_ENV=production: http is for simulated vendors`);
}
