import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Address, readAddress, routableUrl } from './address.js';

function summaryOf(address: Address): string {
  if (address.kind === 'unknown') return 'unknown';
  const { session } = address;
  const name = session.kind === 'named' ? session.name : session.kind;
  if (address.kind === 'manifest') return `${name} manifest`;
  return `${name} ${address.kind} [${address.type}] [${address.id}] [${address.extra.toString()}]`;
}

describe('an address below /addon', () => {
  it.each([
    ['/addon/manifest.json', 'none manifest'],
    ['/addon/tv-1/manifest.json', 'tv-1 manifest'],
    ['/addon/tv-1/manifest.json?x=/catalog', 'tv-1 manifest'],
    ['/addon/t%76-1/manifest.json', 'tv-1 manifest'],
    ['/addon/catalog/series/guided.json', 'none catalog [series] [guided] []'],
    [
      '/addon/catalog/series/guided/search=hill%20%26%20dale&skip=100.json',
      'none catalog [series] [guided] [search=hill+%26+dale&skip=100]',
    ],
    ['/addon/tv-1/stream/series/a%3A1%3A2.json', 'tv-1 stream [series] [a:1:2] []'],
    ['/addon/stream/series/a%2Fb.json', 'none stream [series] [a/b] []'],
    ['/addon/stream/series/a%252Fb.json', 'none stream [series] [a%2Fb] []'],
    ['/addon/meta/series/a/videoHash=1.json', 'none meta [series] [a] [videoHash=1]'],
  ])('reads the add-on URL %s as %s', (url, meaning) => expect(summaryOf(readAddress(url))).toBe(meaning));

  it.each(['catalog', 'meta', 'stream', 'clips'])('an add-on URL may have a session named %s', (name) => {
    expect(summaryOf(readAddress(`/addon/${name}/manifest.json`))).toBe(`${name} manifest`);
    for (const resource of ['catalog', 'meta', 'stream']) {
      const url = `/addon/${name}/${resource}/series/a`;
      expect(summaryOf(readAddress(`${url}.json`))).toBe(`${name} ${resource} [series] [a] []`);
      expect(summaryOf(readAddress(`${url}/skip=1.json`))).toBe(`${name} ${resource} [series] [a] [skip=1]`);
    }
  });

  it.each([
    ['a space', '/addon/a%20b/stream/series/a.json'],
    ['a dot', '/addon/manifest.json/stream/series/a.json'],
    ['65 letters', `/addon/${'a'.repeat(65)}/stream/series/a.json`],
    ['an invalid escape', '/addon/%zz/stream/series/a.json'],
    ['a slash', '/addon/a%2Fb/stream/series/a.json'],
    ['no letter', '/addon//stream/series/a.json'],
  ])('reads an add-on session with %s as malformed', (_, url) =>
    expect(summaryOf(readAddress(url))).toBe('malformed stream [series] [a] []'),
  );

  it.each([
    ['/addon/stream/series/%zz.json', 'none stream [series] [] []'],
    ['/addon/stream/series/a%00b.json', 'none stream [series] [] []'],
    [`/addon/stream/series/${'a'.repeat(5_000)}.json`, 'none stream [series] [] []'],
    ['/addon/stream/%ff/a.json', 'none stream [] [a] []'],
    ['/addon/stream/series/.json', 'none stream [series] [] []'],
  ])('reads a part of an add-on URL that is too long or not decodable as empty: %s', (url, meaning) =>
    expect(summaryOf(readAddress(url))).toBe(meaning),
  );

  it.each([
    '/addon',
    '/addon/',
    '/addon/tv-1',
    '/addon/stream',
    '/addon/stream/series/a',
    '/addon/x/y/series/a.json',
    '/addon/stream/series/a/b/c.json',
  ])('reads the add-on URL %s as unknown', (url) => expect(readAddress(url).kind).toBe('unknown'));

  it('any URL below /addon is read without an error, and its routable URL can be decoded', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('%', '%2', '%2F', '%c3', '..', 'stream', 'manifest.json', ';', '?', '#'),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 7 }), (parts) => {
        const url = `/addon/${parts.join('/')}`;
        readAddress(url);
        expect(() => decodeURI(routableUrl(url).replace(/[?#].*$/s, ''))).not.toThrow();
      }),
    );
  });

  it('routableUrl replaces only URLs below /addon that the router cannot decode', () => {
    expect(routableUrl('/v1/%zz')).toBe('/v1/%zz');
    expect(routableUrl('/addon/tv-1/manifest.json?a=%zz')).toBe('/addon/tv-1/manifest.json?a=%zz');
    expect(routableUrl('/addon/%zz')).toBe('/addon/unroutable');
  });
});
