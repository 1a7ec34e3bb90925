import { canonicalAddress, networkOf } from '#platform';
import { type Session } from '../addon/address.js';

/** The client that watches. A viewer has one place at the gate, one request at a time, and an id at the broker. */
export interface Viewer {
  /** Key of the place. It begins with `session:` or `address:`, so a session named `203.0.113.1` cannot take that address's place. */
  readonly key: string;
  readonly name: string;
  /** The gate limits places by network. */
  readonly network: string;
}

/** Undefined for a malformed session. `address` is the address of the client if a trusted proxy reports it, or else of the direct peer. */
export function viewerOf(session: Session, address: string): Viewer | undefined {
  if (session.kind === 'malformed') return undefined;
  const from = canonicalAddress(address);
  const network = networkOf(from);
  if (session.kind === 'named') return { key: `session:${session.name}`, name: session.name, network };
  return { key: `address:${from}`, name: from, network };
}
