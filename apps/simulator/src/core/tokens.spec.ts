import { describe, expect, it } from '@jest/globals';
import { VendorClock } from './clock.js';
import { ManualTime } from './manual-time.harness.js';
import { type TokenPolicy, TokenStore } from './tokens.js';

const SIX_HOURS: TokenPolicy = { lifetimeSeconds: 21_600, keepAboveShare: 1 / 6, rotates: true };
const CONSENT = { athleteId: '7', scopes: ['read'] };

function store(scale: number, policy = SIX_HOURS) {
  const time = new ManualTime();
  return { time, tokens: new TokenStore(new VendorClock(scale, time), policy) };
}

describe('lifetime of an access token', () => {
  it('TokenStore divides the lifetime of an access token by the scale, and expires_at is in real epoch seconds', () => {
    const { time, tokens } = store(900);
    const pair = tokens.grant(CONSENT);
    expect(pair.expiresInSeconds).toBe(24);
    expect(pair.expiresAtSeconds).toBe(time.nowMs() / 1000 + 24);
    time.advance(24_000);
    expect(tokens.find(pair.accessToken)?.state).toBe('expired');
  });

  it('an access token lives at least five seconds at any scale', () => {
    const { tokens } = store(100_000);
    expect(tokens.grant(CONSENT).expiresInSeconds).toBe(5);
  });

  it('an access token is valid until the second in expires_at', () => {
    const { time, tokens } = store(900);
    time.advance(999);
    const pair = tokens.grant(CONSENT);
    time.advance(pair.expiresAtSeconds * 1000 - time.nowMs() - 1);
    expect(tokens.find(pair.accessToken)?.state).toBe('valid');
  });
});

describe('refresh of a token', () => {
  it('a refresh in the last (scaled) hour leaves the old access token valid until its own expiry', () => {
    const { time, tokens } = store(900);
    const first = tokens.grant(CONSENT);
    time.advance(20_000);
    const second = tokens.refresh(first.refreshToken)!;
    expect(second.accessToken).not.toBe(first.accessToken);
    expect(tokens.find(first.accessToken)?.state).toBe('valid');
    time.advance(4_000);
    expect(tokens.find(first.accessToken)?.state).toBe('expired');
    expect(tokens.find(second.accessToken)?.state).toBe('valid');
  });

  it('a refresh keeps the refresh token when the vendor does not rotate', () => {
    const { time, tokens } = store(1, { lifetimeSeconds: 60, rotates: false });
    const first = tokens.grant(CONSENT);
    time.advance(61_000);
    expect(tokens.refresh(first.refreshToken)?.refreshToken).toBe(first.refreshToken);
  });
});

describe('revocation', () => {
  it('revoking a token ends one grant, and revoking an athlete ends all grants of the athlete', () => {
    const { tokens } = store(1);
    const [one, two, three] = [tokens.grant(CONSENT), tokens.grant(CONSENT), tokens.grant(CONSENT)];
    expect(tokens.revoke(one.refreshToken)).toBe('7');
    expect(tokens.find(one.accessToken)?.state).toBe('revoked');
    expect(tokens.find(two.accessToken)?.state).toBe('valid');
    expect(tokens.revokeAthlete('7')).toBe(2);
    expect(tokens.find(three.accessToken)?.state).toBe('revoked');
    expect(tokens.isConnected('7')).toBe(false);
  });
});
