import { describe, expect, it } from '@jest/globals';
import { DependencyUnavailable } from '#platform';
import { isRetryable } from './normaliser.js';

describe('isRetryable', () => {
  const state = (code: string) => Object.assign(new Error('from postgres'), { code });

  it.each([
    ['a server that is away', new DependencyUnavailable('postgres')],
    ['ECONNREFUSED', new Error('connect ECONNREFUSED 127.0.0.1:5432')],
    ['a time-out', new Error('timeout exceeded')],
    ['a deadlock', state('40P01')],
    ['a full disk', state('53100')],
    ['a standby', state('25006')],
  ])('a sleep message is retried after %s', (_, error) => {
    expect(isRetryable(error)).toBe(true);
  });

  it.each([
    ['a value that does not fit', state('22003')],
    ['a broken rule', state('23514')],
    ['a mistake of ours', new TypeError('x is not a function')],
    ['no error at all', 'oops'],
  ])('a sleep message is not retried after %s', (_, error) => {
    expect(isRetryable(error)).toBe(false);
  });
});
