import { describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { type SecretPlace, SecretUnreadable, Vault } from './vault.js';

const key = (version: number) => ({ version, key: Buffer.alloc(32, version) });
const place: SecretPlace = {
  table: 'connection',
  owner: 'athlete-1',
  provider: 'strava',
  column: 'access_token',
};

describe('Vault', () => {
  const vault = new Vault([key(2), key(1)]);

  it('encrypts a secret to a text that does not contain it, and decrypts that text', () => {
    const sealed = vault.seal('s3cret-tøken', place);
    expect(sealed).toMatch(/^2\.[\w-]+$/);
    expect(sealed).not.toContain('s3cret');
    expect(vault.open(sealed, place)).toBe('s3cret-tøken');
    expect(vault.open(vault.seal('', place), place)).toBe('');
  });

  it('encrypts the same secret to another text each time', () => {
    const sealed = Array.from({ length: 1_000 }, () => vault.seal('same', place));
    expect(new Set(sealed.map((text) => text.slice(0, 18))).size).toBe(1_000);
  });

  it.each<Partial<SecretPlace>>([
    { table: 'revocation' },
    { owner: 'athlete-2' },
    { provider: 'oura' },
    { column: 'refresh_token' },
    // The same characters with another boundary: the lengths are authenticated as well.
    { owner: 'athlete-1s', provider: 'trava' },
  ])('a secret cannot be decrypted if its place is changed by %j', (other) => {
    const sealed = vault.seal('secret', place);
    expect(() => vault.open(sealed, { ...place, ...other })).toThrow(SecretUnreadable);
  });

  it('a secret cannot be decrypted after any single bit is flipped', () => {
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

  it('decrypts a secret of an older key, and only under that key’s version', () => {
    const old = new Vault([key(1)]).seal('secret', place);
    expect(vault.open(old, place)).toBe('secret');
    expect(() => vault.open(old.replace(/^1/, '2'), place)).toThrow(SecretUnreadable);
    expect(() => new Vault([key(2)]).open(old, place)).toThrow('ENCRYPTION_KEYS lacks version 1');
  });

  it('a secret that cannot be decrypted is counted by its table, a readable one is not', async () => {
    const counted = async () =>
      (await register.getSingleMetric('secrets_unreadable_total')?.get())?.values.find(
        ({ labels }) => labels.table === 'webhook_endpoint',
      )?.value;
    const endpoint: SecretPlace = { ...place, table: 'webhook_endpoint' };
    const sealed = new Vault([key(1)]).seal('secret', endpoint);
    vault.open(sealed, endpoint);
    expect(await counted()).toBe(0);
    expect(() => new Vault([key(2)]).open(sealed, endpoint)).toThrow(SecretUnreadable);
    expect(await counted()).toBe(1);
  });

  it.each(['', 'plain', '1.', '1.AAAA', '9999999999.AAAA', '-1.AAAA', '1.!!!!'])(
    'rejects %j, which is no encrypted secret',
    (text) => expect(() => vault.open(text, place)).toThrow(SecretUnreadable),
  );
});
