import { isIP, isIPv4, SocketAddress } from 'node:net';

const IPV4_IN_IPV6 = /^::ffff:(?=\d+\.)/;
const GROUPS = 8;
const GROUPS_OF_NETWORK = 4;

/**
 * One text for each address; an IPv4 address in IPv6 (`::ffff:192.0.2.1`, `::ffff:c000:201`) becomes the IPv4 address. A text that is no
 * address becomes `unknown`.
 */
export function canonicalAddress(address: string): string {
  if (isIP(address) !== 6) return isIPv4(address) ? address : 'unknown';
  return new SocketAddress({ address, family: 'ipv6' }).address.replace(IPV4_IN_IPV6, '');
}

/** The network of a canonical address: the IPv4 address, or the /64 of an IPv6 address. A client can usually use its whole /64. */
export function networkOf(address: string): string {
  if (isIPv4(address) || address === 'unknown') return address;
  const [left = [], right] = address.split('::').map((half) => half.split(':').filter(Boolean));
  // An IPv4 address at the end counts as two groups.
  const inRight = (right?.length ?? 0) + (right?.at(-1)?.includes('.') ? 1 : 0);
  const zeros = right ? Array<string>(GROUPS - left.length - inRight).fill('0') : [];
  return [...left, ...zeros, ...(right ?? [])].slice(0, GROUPS_OF_NETWORK).join(':');
}
