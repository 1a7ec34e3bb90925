import { describe, expect, it } from '@jest/globals';
import { accountOf } from './caller.js';

describe('accountOf', () => {
  const table: ReadonlyArray<readonly [string, Record<string, unknown>, string]> = [
    ['name and subject if the token has no email', { name: 'Anna' }, 'Anna (auth0|5f7c)'],
    ['name and email', { name: 'Anna', email: 'a@example.org' }, 'Anna (a@example.org)'],
    ['the email alone if there is no name', { email: 'a@example.org' }, 'a@example.org'],
    [
      'the subject if the email is not verified',
      { email: 'a@example.org', email_verified: false },
      'auth0|5f7c',
    ],
    ['the subject if there is neither name nor email', {}, 'auth0|5f7c'],
    ['the subject if the claims are not text', { name: { a: 1 }, email: ['a@example.org'] }, 'auth0|5f7c'],
    [
      'one line without control characters or direction overrides',
      { name: 'A\n\u202enn\0a\ud800' },
      'A nn a (auth0|5f7c)',
    ],
    ['at most 100 characters of the name', { name: 'x'.repeat(500) }, `${'x'.repeat(100)} (auth0|5f7c)`],
  ];
  it.each(table)('accountOf returns %s', (_, claims, account) => {
    expect(accountOf(claims, 'auth0|5f7c')).toBe(account);
  });
});
