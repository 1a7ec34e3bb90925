import { describe, expect, it } from '@jest/globals';
import { viewerOf } from './viewer.js';

describe('a viewer', () => {
  it('a viewer is identified by the session, and without a session by the address', () => {
    expect(viewerOf({ kind: 'named', name: 'tv-1' }, '203.0.113.1')).toEqual({
      key: 'session:tv-1',
      name: 'tv-1',
      network: '203.0.113.1',
    });
    expect(viewerOf({ kind: 'none' }, '203.0.113.1')).toEqual({
      key: 'address:203.0.113.1',
      name: '203.0.113.1',
      network: '203.0.113.1',
    });
    expect(viewerOf({ kind: 'malformed' }, '203.0.113.1')).toBeUndefined();
  });

  it.each(['::ffff:192.0.2.1', '::FFFF:192.0.2.1', '::ffff:c000:201', '0:0:0:0:0:ffff:C000:0201'])(
    'a viewer at %s is the same as at its IPv4 address',
    (address) => expect(viewerOf({ kind: 'none' }, address)).toEqual(viewerOf({ kind: 'none' }, '192.0.2.1')),
  );

  it('a viewer is the same for all spellings of an IPv6 address', () => {
    const same = ['2001:db8::1', '2001:0DB8::1', '2001:db8:0:0:0:0:0:1', '2001:db8::1%eth0'];
    for (const address of same) expect(viewerOf({ kind: 'none' }, address)?.name).toBe('2001:db8::1');
  });

  it.each([
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:1:2::9', '2001:db8:1:2'],
    ['2001:db8::1:2:3:4', '2001:db8:0:0'],
    ['2001:db8::', '2001:db8:0:0'],
    ['a:b::c:d:e:f', 'a:b:0:0'],
    ['a:b:c::d:e:f:1', 'a:b:c:0'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['::c000:201', '0:0:0:0'],
    ['192.0.2.1', '192.0.2.1'],
    ['nonsense', 'unknown'],
  ])('a viewer at address %s belongs to network %s, with or without a session', (address, network) => {
    expect(viewerOf({ kind: 'none' }, address)?.network).toBe(network);
    expect(viewerOf({ kind: 'named', name: 'tv-1' }, address)?.network).toBe(network);
  });

  it('a viewer with a malformed address gets the key of the unknown address', () => {
    expect(viewerOf({ kind: 'none' }, '203.0.113.1, evil')?.key).toBe('address:unknown');
  });
});
