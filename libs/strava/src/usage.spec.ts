import { describe, expect, it } from '@jest/globals';
import { usageOf } from './usage.js';

const HEADERS = {
  'x-ratelimit-limit': '200,2000',
  'x-ratelimit-usage': '34,567',
  'x-readratelimit-limit': '100,1000',
  'x-readratelimit-usage': '12,345',
};

describe('the rate headers', () => {
  it('tell of four counters', () => {
    expect(usageOf(HEADERS)).toEqual([
      { bucket: 'read', window: '15min', limit: 100, used: 12 },
      { bucket: 'read', window: 'day', limit: 1_000, used: 345 },
      { bucket: 'overall', window: '15min', limit: 200, used: 34 },
      { bucket: 'overall', window: 'day', limit: 2_000, used: 567 },
    ]);
  });

  it.each(['', '12', '12,', 'a,b', '-1,2', '1,2,3', '1.5,2', '12345678901,1'])(
    'are not believed as %j',
    (odd) => {
      const told = usageOf({ ...HEADERS, 'x-readratelimit-usage': odd });
      expect(told.map(({ bucket }) => bucket)).toEqual(['overall', 'overall']);
    },
  );

  it('may be missing, or set a limit to nothing', () => {
    expect(usageOf({})).toEqual([]);
    expect(usageOf({ ...HEADERS, 'x-ratelimit-limit': '0,2000' }).map(({ window }) => window)).toEqual([
      '15min',
      'day',
      'day',
    ]);
  });
});
