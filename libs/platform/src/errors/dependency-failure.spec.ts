import { describe, expect, it } from '@jest/globals';
import { isPostgresAway } from './dependency-failure.js';

const coded = (code: string) => Object.assign(new Error('from postgres'), { code });

describe('isPostgresAway', () => {
  it.each([
    ['no connection', 'ECONNREFUSED'],
    ['a connection exception', '08006'],
    ['a server that shuts down', '57P01'],
    ['a statement time-out', '57014'],
    ['no connections left', '53300'],
    ['a standby', '25006'],
    ['a broken disk', '58030'],
    ['a prepared statement that a pooler mixed up', '42P05'],
    ['a prepared statement that a pooler lost', '26000'],
  ])('isPostgresAway returns true for %s (%s)', (_, code) => {
    expect(isPostgresAway(coded(code))).toBe(true);
  });

  it.each([
    ['a value that does not fit', '22003'],
    ['a duplicate key', '23505'],
    ['a syntax error', '42601'],
    ['a deadlock', '40P01'],
  ])('isPostgresAway returns false for %s (%s)', (_, code) => {
    expect(isPostgresAway(coded(code))).toBe(false);
  });

  it('isPostgresAway returns false for a value that is no error', () => {
    expect(isPostgresAway('ECONNREFUSED')).toBe(false);
  });
});
