import { describe, expect, it } from '@jest/globals';
import { parseVendorJson } from './token-answer.js';

const parse = (text: string) => parseVendorJson(Buffer.from(text));

describe('parseVendorJson', () => {
  it('keeps every digit of a large id as text, and parses everything else like JSON.parse', () => {
    expect(parse('{"id":92233720368547758071234,"n":[1,-2.5e3,123456789012345],"ok":true}')).toEqual({
      id: '92233720368547758071234',
      n: [1, -2500, 123456789012345],
      ok: true,
    });
  });

  it('adds no quotes to digits inside JSON strings', () => {
    expect(parse('{"a":"12345678901234567890","b\\"1":"x\\\\","c":"\\"12345678901234567890"}')).toEqual({
      a: '12345678901234567890',
      'b"1': 'x\\',
      c: '"12345678901234567890',
    });
  });

  it.each(['', '{', '<html>', '{"a":1', '"'])('returns undefined for %j, which is not JSON', (text) => {
    expect(parse(text)).toBeUndefined();
  });
});
