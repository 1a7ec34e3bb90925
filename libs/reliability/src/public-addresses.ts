import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { BlockList, isIPv6 } from 'node:net';

const notPublic = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  notPublic.addSubnet(network, bits, 'ipv4');
  // The same behind the prefix that translates IPv4 into IPv6.
  notPublic.addSubnet(`64:ff9b::${network}`, 96 + bits, 'ipv6');
}
notPublic.addSubnet('::', 127, 'ipv6');
notPublic.addSubnet('fc00::', 7, 'ipv6');
notPublic.addSubnet('fe80::', 10, 'ipv6');
notPublic.addSubnet('ff00::', 8, 'ipv6');

/** An IPv4 address in IPv6 clothes (`::ffff:10.0.0.1`) is judged as the former. */
export function isPublic(address: string): boolean {
  return !notPublic.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;
type Lookup = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * For the connections to vendors on the internet: a name that leads into our own network is not followed. What was looked up
 * here is what is connected to, so a second answer cannot differ.
 */
export function publicLookup(lookup: Lookup = systemLookup) {
  return (hostname: string, options: LookupOptions, callback: LookupCallback): void =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isPublic(address)))
        return callback(new Error(`${hostname} has an address that is not public`), []);
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
}
