import { type Core, type TokenPolicy, TokenStore, type Vendor } from '../core/index.js';

/** Both vendors are taken to rotate; the core's grace, if any, lets an old refresh token live on. */
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

/** New apps may connect few people; a fault or the configured capacity closes the door to others. */
export function hasRoomFor(core: Core, vendor: Vendor, tokens: TokenStore, athleteId: string): boolean {
  if (tokens.isConnected(athleteId)) return true;
  if (core.faults.isArmed(vendor, 'athlete_limit')) return false;
  return tokens.connectedCount() < (core.app(vendor).athleteCapacity ?? Infinity);
}
