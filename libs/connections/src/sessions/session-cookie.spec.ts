import { describe, expect, it } from '@jest/globals';
import { SessionCookie } from './session-cookie.js';

const plain = new SessionCookie('http://127.0.0.1:3000');
const secure = new SessionCookie('https://pacekeeper.example');

describe('the cookie of a session', () => {
  it('the cookie of a session is HttpOnly and SameSite=Strict, and over https also Secure with the prefix __Host-', () => {
    expect(plain.set('abc', 60, false)).toBe(
      'pacekeeper_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict',
    );
    expect(secure.set('abc', 60, false)).toBe(
      '__Host-pacekeeper_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure',
    );
    expect(plain.set('abc', 60, true)).toBe(
      'pacekeeper_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure',
    );
    expect(plain.clear(false)).toBe('pacekeeper_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict');
  });

  it.each<[string, string, string | undefined]>([
    ['alone', 'pacekeeper_session=abc', 'abc'],
    ['between others', 'a=1; pacekeeper_session=abc;b=2', 'abc'],
    ['with an equals sign in its value', 'pacekeeper_session=a=b', 'a=b'],
    ['empty', 'pacekeeper_session=', ''],
    ['twice, as an empty text', 'pacekeeper_session=abc; pacekeeper_session=abc', ''],
    ['absent', 'a=pacekeeper_session=abc; xpacekeeper_session=1; pacekeeper_session', undefined],
    ['of the https name, which a deployment without https ignores', '__Host-pacekeeper_session=a', undefined],
  ])('is read if it is %s', (_, cookies, value) => {
    expect(plain.read(cookies)).toBe(value);
  });

  it('the cookie of a session is ignored without the prefix in a deployment with https, because any host of the domain can set that one', () => {
    expect(secure.read('pacekeeper_session=abc')).toBeUndefined();
    expect(secure.read('__Host-pacekeeper_session=abc; pacekeeper_session=evil')).toBe('abc');
  });
});
