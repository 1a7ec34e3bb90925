import { describe, expect, it } from '@jest/globals';
import { startOf } from './reread-options.js';

const FROM = '2025-01-01T00:00:00Z';

describe('the arguments of npm run reread', () => {
  it.each([
    ['--from', FROM],
    [`--from=${FROM}`],
    ['--from', '2025-01-01'],
    ['--from', '2025-01-01T02:00:00+02:00'],
  ])('npm run reread accepts a time with a zone, or a day (%s %s)', (...args) =>
    expect(startOf(args).toISOString()).toBe('2025-01-01T00:00:00.000Z'),
  );

  it.each([
    ['nothing', []],
    ['no time', ['--from']],
    ['a word', ['--from', 'yesterday']],
    ['a number', ['--from', '5']],
    ['a time without a zone', ['--from', '2026-11-19T08:00:00']],
    ['a day that does not exist', ['--from', '2026-02-31']],
    ['a year that NATS does not know', ['--from', '+275760-09-13T00:00:00Z']],
    ['another option', ['--since', FROM]],
    ['too many words', ['--from', FROM, 'twice']],
  ])('npm run reread answers %s with its usage', (_, args) => {
    expect(() => startOf(args)).toThrow(/^usage: reread --from /);
  });

  it('npm run reread refuses a time in the future', () => {
    expect(() => startOf(['--from', '2999-01-01T00:00:00Z'])).toThrow(
      '2999-01-01T00:00:00.000Z is in the future',
    );
  });
});
