import { type Core, type TokenPolicy, TokenStore, type Vendor } from '../core/index.js';

/**
 * The tokens of Oura or WHOOP. We assume that both vendors rotate refresh tokens. A rotated refresh token works until the
 * configured grace ends.
 */
export function vendorTokens(
  core: Core,
  vendor: Vendor,
  habits: () => Pick<TokenPolicy, 'lifetimeSeconds' | 'rotates'>,
): TokenStore {
  const policy: TokenPolicy = {
    graceSeconds: core.options.refreshGraceSeconds ?? 0,
    get lifetimeSeconds() {
      return habits().lifetimeSeconds;
    },
    get rotates() {
      return habits().rotates;
    },
  };
  const tokens = new TokenStore(core.clock, policy);
  core.world.onReset(() => tokens.reset());
  core.memory.keep(`${vendor} tokens`, tokens);
  return tokens;
}

/** False if the fault `athlete_limit` or the app's capacity refuses this person. A connected person is never refused. */
export function hasRoomFor(core: Core, vendor: Vendor, tokens: TokenStore, athleteId: string): boolean {
  if (tokens.isConnected(athleteId)) return true;
  if (core.faults.isArmed(vendor, 'athlete_limit')) return false;
  return tokens.connectedCount() < (core.app(vendor).athleteCapacity ?? Infinity);
}
