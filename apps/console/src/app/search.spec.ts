import { describe, expect, it } from '@jest/globals';
import { formatSearch, optionOf, parseSearch, textOf } from './search.js';

describe('search parameters', () => {
  it('search parameters are the same after being written and read', () => {
    const search = { q: 'a b&c=ü', page: '007' };
    expect(parseSearch(formatSearch(search))).toEqual(search);
  });

  it('search parameters leave out empty values, and without a value the question mark', () => {
    expect(formatSearch({ q: '', status: undefined })).toBe('');
    expect(formatSearch({ q: '', status: 'failed' })).toBe('?status=failed');
  });

  it('optionOf and textOf drop values that the page does not know', () => {
    expect(optionOf('failed', ['failed', 'done'])).toBe('failed');
    expect(optionOf('<b>', ['failed', 'done'])).toBeUndefined();
    expect(textOf('')).toBeUndefined();
    expect(textOf(7)).toBeUndefined();
  });
});
