import { describe, expect, it } from '@jest/globals';
import { type LookupAddress } from 'node:dns';
import { isPrivateLiteral, isPublic, publicLookup } from './public-addresses.js';

describe('an address', () => {
  it.each([
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254', '0.0.0.0'],
    ...[
      '100.64.0.1',
      '224.0.0.1',
      '255.255.255.255',
      '::1',
      '::',
      'fe80::1',
      'fd00::1',
      'fc00::1',
      'ff02::1',
    ],
    ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '64:ff9b::10.0.0.1', '64:ff9b::a9fe:a9fe'],
    ...['::127.0.0.1', '::8.8.8.8', '2002:7f00:1::', '2001:0:1::1', '64:ff9b:1::1', '2001:db8::1', '3fff::1'],
    // Not assigned by IANA, though overlay networks use 200::/7. ::ffff:0:0:0/96 contains IPv4 addresses.
    ...['200::1', '300:dead::1', '::ffff:0:7f00:1', '400::1', '1000::1', '4000::1', 'c000::1', 'fe00::1'],
    ...['192.0.2.1', '198.51.100.7', '203.0.113.9', '192.88.99.1', '198.19.0.1', '100::1', 'fec0::1'],
  ])('isPublic returns false for %s', (address) => expect(isPublic(address)).toBe(false));

  it.each(['52.84.17.4', '8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8'])(
    'isPublic returns true for %s',
    (address) => expect(isPublic(address)).toBe(true),
  );
});

describe('a name of a vendor', () => {
  const looked = (addresses: string[], all: boolean) =>
    new Promise((resolve) => {
      const found: LookupAddress[] = addresses.map((address) => ({ address, family: 4 }));
      const lookup = publicLookup((_name, _options, callback) => callback(null, found));
      lookup('vendor.example', { all }, (error, address) => resolve(error ? error.message : address));
    });

  it('publicLookup returns public addresses, one or all of them', async () => {
    expect(await looked(['8.8.8.8', '8.8.4.4'], false)).toBe('8.8.8.8');
    expect(await looked(['8.8.8.8'], true)).toEqual([{ address: '8.8.8.8', family: 4 }]);
  });

  it.each([[['127.0.0.1']], [['8.8.8.8', '10.0.0.1']], [[]]])(
    'publicLookup refuses a name with the addresses %j',
    async (addresses) => {
      expect(await looked(addresses, true)).toBe('vendor.example has an address that is not public');
    },
  );
});

describe('the host of a URL', () => {
  it.each(['127.0.0.1', '[::1]', '[2002:7f00:1::]', '192.0.2.1'])(
    'isPrivateLiteral returns true for %s',
    (host) => expect(isPrivateLiteral(host)).toBe(true),
  );
  it.each(['8.8.8.8', '[2606:4700::1111]', 'localhost', 'vendor.example'])(
    'isPrivateLiteral returns false for %s',
    (host) => expect(isPrivateLiteral(host)).toBe(false),
  );
});
