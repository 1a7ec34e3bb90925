import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from './parse-json.js';

/** Any JSON value, with integers of any size as bigint. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    // JSON.stringify writes larger doubles as integers.
    fc.double({ noNaN: true, min: -1e15, max: 1e15 }),
    fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }),
    fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
    fc.string({ unit: 'grapheme' }),
    // Strings with digits that look like the integers that parseJson quotes.
    fc.bigInt().map((digits) => `"${digits}": \\${digits}, "`),
    fc.array(tie('value')),
    fc.dictionary(fc.oneof(fc.string(), fc.bigInt().map(String)), tie('value')),
  ),
}));

function written(one: unknown): string {
  if (typeof one === 'bigint') return String(one);
  if (Array.isArray(one)) return `[ ${one.map(written).join(' ,')}]`;
  if (typeof one === 'object' && one !== null)
    return `{${Object.entries(one)
      .map(([key, child]) => `${JSON.stringify(key)} : ${written(child)}`)
      .join(',\n')} }`;
  return JSON.stringify(one);
}

function expected(one: unknown): unknown {
  if (typeof one === 'bigint') return Number.isSafeInteger(Number(one)) ? Number(one) : String(one);
  if (typeof one === 'number') return JSON.parse(JSON.stringify(one)) as number;
  if (typeof one === 'string') return one.replace(/\0/g, '');
  if (Array.isArray(one)) return one.map(expected);
  if (typeof one !== 'object' || one === null) return one;
  const entries = Object.entries(one).filter(([key]) => key !== '__proto__');
  return Object.fromEntries(entries.map(([key, child]) => [key, expected(child)]));
}

describe('parseJson', () => {
  it('parses any JSON like JSON.parse, except that large integers become text with all digits (model)', () => {
    fc.assert(
      fc.property(value, (one) => {
        expect(parseJson(written(one))).toEqual(expected(one));
      }),
      { numRuns: 2_000 },
    );
  });

  it('throws a SyntaxError for exactly the texts that JSON.parse refuses (model)', () => {
    const piece = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ':',
        ',',
        '"',
        '\\',
        ' ',
        'a',
        '-',
        '.',
        'e',
        '0',
        '1',
        '\n',
        'null',
        '\\u0000',
      ],
      ...['9007199254740993', '12345678901234567890', '"id"'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        const parses = (parse: (text: string) => unknown) => {
          try {
            parse(text);
            return true;
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError);
            return false;
          }
        };
        expect(parses(parseJson)).toBe(parses((json) => JSON.parse(json) as unknown));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['{"id":9007199254740993}', { id: '9007199254740993' }],
    ['{"id":9007199254740991}', { id: 9007199254740991 }],
    ['[-9007199254740993, 1.0000000000000000001]', ['-9007199254740993', 1]],
    ['{"t":"9007199254740993 \\" 9007199254740993"}', { t: '9007199254740993 " 9007199254740993' }],
    ['"a\\u0000b\\ud83dc\\ud83d\\ude00"', 'abc😀'],
    ['{"a\\u0000":1,"b":2}', { b: 2 }],
  ])('parses %s without loss of digits and without unstorable characters', (text, parsed) =>
    expect(parseJson(text)).toEqual(parsed),
  );

  it('drops a __proto__ key of JSON in every spelling', () => {
    for (const key of ['__proto__', '\\u005f_proto__', '\\u005F\\u005Fproto__']) {
      const parsed = parseJson(`{"a":{"${key}":{"evil":true}}}`) as { a: object };
      expect(Object.getOwnPropertyNames(parsed.a)).toEqual([]);
      expect(Object.assign({}, parsed.a)).not.toHaveProperty('evil');
    }
  });

  it('refuses JSON of more than 64 levels', () => {
    expect(() => parseJson('['.repeat(70) + ']'.repeat(70))).toThrow('levels deep');
    expect(() => parseJson('{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000))).toThrow();
  });
});
