import { type LookupAddress, NODATA, NOTFOUND } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { type Lookup } from './public-addresses.js';

// The first try lasts 2 s. The second one lasts 4 s, because the resolver doubles the time.
const TRY_MS = 2_000;
const TRIES = 2;

/**
 * Returns a `lookup` that asks the DNS servers over sockets of its own. `dns.lookup` uses the four threads that all lookups, files and
 * compression of a process share, and a name whose servers never answer holds one of them for 10 s and more. So this `lookup` is for names
 * that a stranger chooses. It uses neither `/etc/hosts` nor search domains. `servers`: by default those of the system.
 */
export function networkLookup(servers?: readonly string[]): Lookup {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  return (hostname, _options, callback) =>
    void addressesOf(resolver, hostname).then(
      (addresses) => callback(null, addresses),
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
}

/** IPv4 first: it works on hosts without IPv6. Throws with the codes of `dns.lookup`. */
async function addressesOf(resolver: Resolver, hostname: string): Promise<LookupAddress[]> {
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const areNone = answers.every(
    (answer) => answer.status === 'fulfilled' || hasNone((answer.reason as NodeJS.ErrnoException).code),
  );
  throw Object.assign(new Error(`${hostname} has no address`), { code: areNone ? 'ENOTFOUND' : 'EAI_AGAIN' });
}

const hasNone = (code: string | undefined) => code === NOTFOUND || code === NODATA;
