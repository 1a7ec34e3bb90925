import { type Core, TokenStore, type Vendor } from '../core/index.js';

/** Single-use refresh tokens, as both Oura and WHOOP have them; the core's grace, if any, lets an old one live on. */
export function rotatingTokens(core: Core, vendor: Vendor, lifetimeSeconds: number): TokenStore {
  const graceSeconds = core.options.refreshGraceSeconds ?? 0;
  const tokens = new TokenStore(core.clock, { lifetimeSeconds, rotates: true, graceSeconds });
  core.world.onReset(() => tokens.reset());
  core.memory.keep(`${vendor} tokens`, tokens);
  return tokens;
}

/** New apps may connect few people; a fault or the configured capacity closes the door to others. */
export function hasRoomFor(core: Core, vendor: Vendor, tokens: TokenStore, athleteId: string): boolean {
  if (tokens.isConnected(athleteId)) return true;
  if (core.faults.isArmed(vendor, 'athlete_limit')) return false;
  return tokens.connectedCount() < (core.app(vendor).athleteCapacity ?? Infinity);
}
