import { describe, expect, it } from '@jest/globals';
import { checkedReturnUrl, withAnswer } from './return-url.js';

const LIST = ['https://good.example', 'https://app.example/settings', 'http://localhost:5173'];
const check = (text: string) => checkedReturnUrl(text, LIST);

describe('checkedReturnUrl', () => {
  it.each([
    ['https://good.example', 'https://good.example/'],
    ['https://GOOD.example:443/a/../b?x=1#y', 'https://good.example/b?x=1#y'],
    ['https://app.example/settings', 'https://app.example/settings'],
    ['https://app.example/settings/strava?tab=2', 'https://app.example/settings/strava?tab=2'],
    ['http://localhost:5173/back', 'http://localhost:5173/back'],
  ])('accepts %s as a return_url on the list', (text, normal) => expect(check(text)).toBe(normal));

  it.each([
    'https://good.example.evil.com/',
    'https://good.example@evil.com/',
    'https://user@good.example/',
    'https://user:pw@good.example/',
    'https://good.example:8443/',
    'http://good.example/',
    'https://evil.com/https://good.example',
    'https://evil.com/?https://good.example',
    'https://evil.com#https://good.example',
    'https://evil.com\\@good.example/',
    'https:\\\\good.example\\',
    'https://good.example\\.evil.com/',
    'https://good.exam\tple/',
    'https://good.example\n.evil.com/',
    ' https://good.example/',
    '//good.example/',
    '/settings',
    'good.example',
    'javascript:alert(1)//https://good.example',
    'data:text/html,https://good.example',
    'https://app.example/',
    'https://app.example/settingsevil',
    'https://app.example/settings/../admin',
    'https://app.example/settings/%2e%2e/admin',
    'https://app.example/settings/..%2fadmin',
    'https://app.example/settings/..%5Cadmin',
    'https://app.example/Settings',
    'https://localhost:5173/',
    'https://good.example./',
    'https://gооd.example/', // Cyrillic
    '',
    `https://good.example/${'x'.repeat(2_048)}`,
  ])('rejects %j as a return_url', (text) => {
    expect(() => check(text)).toThrow(
      expect.objectContaining({ details: [expect.stringMatching(/^return_url: /)] }),
    );
  });

  it('rejects every return_url if the list is empty', () => {
    expect(() => checkedReturnUrl('https://good.example', [])).toThrow();
  });
});

describe('withAnswer', () => {
  it('adds the result to a return_url, keeps other parameters and replaces a forged result', () => {
    expect(
      withAnswer('https://a.example/x?y=1&result=connected&missing=q#z', {
        provider: 'strava',
        result: 'denied',
        missing: undefined,
      }),
    ).toBe('https://a.example/x?y=1&provider=strava&result=denied#z');
  });

  it('encodes the parameters that it adds to a return_url', () => {
    expect(withAnswer('https://a.example/', { missing: 'a&b=c d' })).toBe(
      'https://a.example/?missing=a%26b%3Dc+d',
    );
  });
});
