import { isIP } from 'node:net';
import { type Session } from '../addon/address.js';

/** Who watches: has a place at the gate, one wish at a time, and a name with the broker. */
export interface Viewer {
  /** Of a place. A session that looks like an address is not that address. */
  readonly key: string;
  readonly name: string;
}

const IPV4_IN_IPV6 = /^::ffff:(?=\d+\.)/i;

/** Undefined for a session that is none. `address` is whom the proxies we trust saw, else who is connected to us. */
export function viewerOf(session: Session, address: string): Viewer | undefined {
  if (session.kind === 'malformed') return undefined;
  if (session.kind === 'named') return { key: `session:${session.name}`, name: session.name };
  const name = isIP(address) ? address.replace(IPV4_IN_IPV6, '') : 'unknown';
  return { key: `address:${name}`, name };
}
