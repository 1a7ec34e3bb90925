import { describe, expect, it } from '@jest/globals';
import { parseVendorJson } from './vendor-json.js';

const parse = (text: string) => parseVendorJson(Buffer.from(text));

describe('parseVendorJson', () => {
  it('keeps every digit of a large id, and leaves all else as JSON has it', () => {
    expect(parse('{"id":92233720368547758071234,"n":[1,-2.5e3,123456789012345],"ok":true}')).toEqual({
      id: '92233720368547758071234',
      n: [1, -2500, 123456789012345],
      ok: true,
    });
  });

  it('does not touch digits inside strings', () => {
    expect(parse('{"a":"12345678901234567890","b\\"1":"x\\\\","c":"\\"12345678901234567890"}')).toEqual({
      a: '12345678901234567890',
      'b"1': 'x\\',
      c: '"12345678901234567890',
    });
  });

  it.each(['', '{', '<html>', '{"a":1', '"'])('answers undefined to %j', (text) => {
    expect(parse(text)).toBeUndefined();
  });
});
