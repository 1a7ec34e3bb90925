import { describe, expect, it } from '@jest/globals';
import { type Place, SecretUnreadable, Vault } from './vault.js';

const key = (version: number) => ({ version, key: Buffer.alloc(32, version) });
const place: Place = { table: 'connection', owner: 'athlete-1', provider: 'strava', column: 'access_token' };

describe('Vault', () => {
  const vault = new Vault([key(2), key(1)]);

  it('opens what it sealed and shows nothing of it', () => {
    const sealed = vault.seal('s3cret-tøken', place);
    expect(sealed).toMatch(/^2\.[\w-]+$/);
    expect(sealed).not.toContain('s3cret');
    expect(vault.open(sealed, place)).toBe('s3cret-tøken');
    expect(vault.open(vault.seal('', place), place)).toBe('');
  });

  it('never makes the same text twice', () => {
    const sealed = Array.from({ length: 1_000 }, () => vault.seal('same', place));
    expect(new Set(sealed.map((text) => text.slice(0, 18))).size).toBe(1_000);
  });

  it.each<Partial<Place>>([
    { table: 'revocation' },
    { owner: 'athlete-2' },
    { provider: 'oura' },
    { column: 'refresh_token' },
    // The same characters, cut elsewhere: lengths are part of what is authenticated.
    { owner: 'athlete-1s', provider: 'trava' },
  ])('does not open it in another place: %j', (other) => {
    const sealed = vault.seal('secret', place);
    expect(() => vault.open(sealed, { ...place, ...other })).toThrow(SecretUnreadable);
  });

  it('does not open it when any bit was flipped', () => {
    const [version, text = ''] = vault.seal('secret', place).split('.');
    const bytes = Buffer.from(text, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => vault.open(`${version}.${flipped.toString('base64url')}`, place)).toThrow(
        SecretUnreadable,
      );
    }
  });

  it('reads what an older key sealed, and only under that version', () => {
    const old = new Vault([key(1)]).seal('secret', place);
    expect(vault.open(old, place)).toBe('secret');
    expect(() => vault.open(old.replace(/^1/, '2'), place)).toThrow(SecretUnreadable);
    expect(() => new Vault([key(2)]).open(old, place)).toThrow('ENCRYPTION_KEYS lacks version 1');
  });

  it.each(['', 'plain', '1.', '1.AAAA', '9999999999.AAAA', '-1.AAAA', '1.!!!!'])(
    'refuses %j, which it never made',
    (text) => expect(() => vault.open(text, place)).toThrow(SecretUnreadable),
  );
});
