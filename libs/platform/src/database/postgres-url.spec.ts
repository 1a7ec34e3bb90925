import { describe, expect, it } from '@jest/globals';
import { hostsOf, postgresUrl, serversOf } from './postgres-url.js';

describe('the URL of Postgres', () => {
  it('a URL with several hosts names one server for each, with the same login, database and options', () => {
    const url =
      'postgres://me:p%40ss@a:5433,b.example,[::1]:5432/db?sslmode=verify-full&target_session_attrs=read-write';
    expect(serversOf(url)).toEqual([
      'postgres://me:p%40ss@a:5433/db?sslmode=verify-full',
      'postgres://me:p%40ss@b.example/db?sslmode=verify-full',
      'postgres://me:p%40ss@[::1]:5432/db?sslmode=verify-full',
    ]);
    expect(hostsOf(url)).toBe('a:5433,b.example,[::1]:5432');
  });

  it('a URL with one host stays as it is', () => {
    const url = 'postgresql://me:a,b@db/x?options=-csearch_path%3Dy';
    expect(serversOf(url)).toEqual([url]);
  });

  it.each(['postgres:foo', 'postgres://a b/c', 'postgres://a,,b/c', 'postgres://a,b:x/c', 'mysql://a/b', ''])(
    'refuses "%s"',
    (text) => {
      expect(serversOf(text)).toEqual([]);
      expect(postgresUrl.safeParse(text).success).toBe(false);
    },
  );

  it.each([
    ['read-write', true],
    ['primary', true],
    ['any', false],
    ['prefer-standby', false],
  ])('target_session_attrs=%s is accepted: %s', (wanted, isAccepted) => {
    const url = `postgres://a,b/db?target_session_attrs=${wanted}`;
    expect(postgresUrl.safeParse(url).success).toBe(isAccepted);
  });
});
