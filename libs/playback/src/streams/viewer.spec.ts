import { describe, expect, it } from '@jest/globals';
import { viewerOf } from './viewer.js';

describe('a viewer', () => {
  it('is the session, else the address', () => {
    expect(viewerOf({ kind: 'named', name: 'tv-1' }, '203.0.113.1')).toEqual({
      key: 'session:tv-1',
      name: 'tv-1',
    });
    expect(viewerOf({ kind: 'none' }, '203.0.113.1')).toEqual({
      key: 'address:203.0.113.1',
      name: '203.0.113.1',
    });
    expect(viewerOf({ kind: 'malformed' }, '203.0.113.1')).toBeUndefined();
  });

  it('is the same by IPv4 and by IPv4 in IPv6', () => {
    expect(viewerOf({ kind: 'none' }, '::ffff:203.0.113.1')?.name).toBe('203.0.113.1');
    expect(viewerOf({ kind: 'none' }, '2001:db8::1')?.name).toBe('2001:db8::1');
  });

  it("takes nobody's place with an address that is none", () => {
    expect(viewerOf({ kind: 'none' }, '203.0.113.1, evil')?.key).toBe('address:unknown');
  });
});
