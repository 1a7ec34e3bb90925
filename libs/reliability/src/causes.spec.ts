import { describe, expect, it } from '@jest/globals';
import { AppError, DependencyUnavailable, Forbidden, NotFound } from '#platform';
import { CAUSE_ANSWERS, CauseError, causeOf, CAUSES } from './causes.js';
import { DeadlineExceeded, Superseded } from './coalesce/coalesce.errors.js';
import { AnswerTooLarge, CallAborted, CallTimedOut, ConnectionFailed } from './outbound.errors.js';

const redisError = (message: string) => new Error(message);

describe('the cause of an error', () => {
  it.each<[string, unknown, string]>([
    ['a call that took too long', new CallTimedOut('broker'), 'dependency_timeout'],
    ['a deadline', new DeadlineExceeded(), 'dependency_timeout'],
    ['a time-out of the runtime', new DOMException('late', 'TimeoutError'), 'dependency_timeout'],
    ['a connection that failed', new ConnectionFailed('broker'), 'broker_error'],
    ['an answer too large', new AnswerTooLarge('broker', 1), 'broker_error'],
    ['a newer request', new Superseded(), 'superseded'],
    [
      'a call that a newer request ended',
      new CallAborted('broker', { cause: new Superseded() }),
      'superseded',
    ],
    [
      'a call that a deadline ended',
      new CallAborted('broker', { cause: new DeadlineExceeded() }),
      'dependency_timeout',
    ],
    ['a call that somebody ended', new CallAborted('broker'), 'broker_error'],
    ['Redis away, as the platform says it', new DependencyUnavailable('redis'), 'redis_unavailable'],
    ['Redis away, as its client says it', redisError('Command timed out'), 'redis_unavailable'],
    [
      'Redis full',
      redisError("OOM command not allowed when used memory > 'maxmemory'."),
      'redis_unavailable',
    ],
    ['Postgres away', new DependencyUnavailable('postgres'), 'broker_error'],
    ['what is not there', new NotFound(), 'not_found'],
    ['what is not allowed', new Forbidden('not yours'), 'policy_blocked'],
    ['what nobody has foreseen', new TypeError('x is not a function'), 'broker_error'],
    ['what is no error', 'text', 'broker_error'],
    ['nothing', undefined, 'broker_error'],
  ])('%s', (_, error, cause) => expect(causeOf(error)).toBe(cause));

  it.each(CAUSES)('is told as it was told: %s', (cause) => {
    expect(causeOf(new CauseError(cause))).toBe(cause);
    expect(causeOf(new Error('around it', { cause: new CauseError(cause) }))).toBe(cause);
  });

  it('is found also where errors lead back to themselves', () => {
    const error = new Error('a');
    error.cause = new Error('b', { cause: error });
    expect(causeOf(error)).toBe('broker_error');
  });
});

describe('the answer to a cause', () => {
  it('is nothing to play where the person or the capacity is meant, and a clip where a dependency failed', () => {
    const kinds = Object.fromEntries(CAUSES.map((cause) => [cause, CAUSE_ANSWERS[cause].kind]));
    expect(kinds).toEqual({
      capacity_busy: 'empty',
      policy_blocked: 'empty',
      superseded: 'empty',
      not_found: 'empty',
      dependency_timeout: 'clip',
      broker_error: 'clip',
      redis_unavailable: 'clip',
    });
  });

  it('is there for every cause and for nothing else', () => {
    expect(Object.keys(CAUSE_ANSWERS).sort()).toEqual([...CAUSES].sort());
  });

  it.each(CAUSES)('says what to do and nothing of our insides: %s', (cause) => {
    const { message, retryAfterSeconds } = CAUSE_ANSWERS[cause];
    expect(message).toMatch(/please/i);
    expect(message).not.toMatch(/redis|broker|postgres|time-?out|cause|null|undefined|_/i);
    if (retryAfterSeconds !== null) expect(message).toMatch(/try again in/);
  });

  it('cannot be changed', () => {
    const table = CAUSE_ANSWERS as unknown as Record<string, { message: string }>;
    expect(() => (table['not_found']!.message = 'other')).toThrow(TypeError);
    expect(() => delete table['not_found']).toThrow(TypeError);
  });

  it.each(CAUSES)('is the same bytes a hundred times: %s', (cause) => {
    const seen = new Set(
      Array.from({ length: 100 }, () => JSON.stringify(CAUSE_ANSWERS[causeOf(new CauseError(cause))])),
    );
    expect(seen.size).toBe(1);
  });

  it('is carried by its error, which an edge may answer as well', () => {
    const error = new CauseError('broker_error');
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ kind: 'unavailable', why: 'broker_error' });
  });
});
