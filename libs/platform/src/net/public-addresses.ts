import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { BlockList, isIP, isIPv6 } from 'node:net';

// The networks of IANA's special-purpose registry that are not globally reachable: private, shared, link-local, documentation, benchmarks,
// relays, multicast, reserved.
const NOT_PUBLIC_4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

// Global unicast addresses begin with 2000::/3. All others are special or not assigned, and overlay networks use some of the latter. IPv4-compatible,
// translated (::ffff:0:0:0/96, 64:ff9b:1::/48), 6to4 and Teredo addresses contain an IPv4 address, and a relay decides where they lead.
const NOT_PUBLIC_6 = [
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b:1::', 48],
  ['100::', 8],
  ['200::', 7],
  ['400::', 6],
  ['800::', 5],
  ['1000::', 4],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['4000::', 2],
  ['8000::', 1],
] as const;

const notPublic = new BlockList();
for (const [network, bits] of NOT_PUBLIC_4) {
  notPublic.addSubnet(network, bits, 'ipv4');
  // A network without IPv4 reaches every IPv4 address, also a public one, by an IPv6 address with this prefix (NAT64). So the IPv4 address
  // inside decides.
  notPublic.addSubnet(`64:ff9b::${network}`, 96 + bits, 'ipv6');
}
for (const [network, bits] of NOT_PUBLIC_6) notPublic.addSubnet(network, bits, 'ipv6');

/** Checks an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) as IPv4. */
export function isPublic(address: string): boolean {
  return !notPublic.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;
/** Finds the addresses of a host name. */
export type Lookup = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The host has an address in a network that is not public. */
export class AddressNotPublic extends Error {
  override readonly name = 'AddressNotPublic';
  constructor(hostname: string) {
    super(`${hostname} has an address that is not public`);
  }
}

/**
 * A `lookup` for connections to servers on the internet. It fails if any address of the name is not public, so that a name cannot lead into
 * our own network. The connection uses the checked address, so a second DNS answer cannot change the address. Node does not call `lookup`
 * for a literal address: see `isPrivateLiteral`.
 */
export function publicLookup(lookup: Lookup = systemLookup) {
  return (hostname: string, options: LookupOptions, callback: LookupCallback): void =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isPublic(address)))
        return callback(new AddressNotPublic(hostname), []);
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
}

/** True if the host of a URL is an address, not a name, and the address is not public. */
export function isPrivateLiteral(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  return isIP(address) > 0 && !isPublic(address);
}
