import { describe, expect, it } from '@jest/globals';
import { isConcerned } from './changes.js';

const change = { type: 'activity.updated', athlete_id: 'a' } as const;

describe('isConcerned', () => {
  it('a pattern names one type of change or all types of a noun', () => {
    expect(isConcerned({ changes: ['activity.updated'] }, change)).toBe(true);
    expect(isConcerned({ changes: ['activity.*'] }, change)).toBe(true);
    expect(isConcerned({ changes: ['activity.created', 'streams.*', 'overview'] }, change)).toBe(false);
  });

  it('a query of one athlete does not depend on the changes of another', () => {
    expect(isConcerned({ changes: ['activity.*'], athleteId: 'a' }, change)).toBe(true);
    expect(isConcerned({ changes: ['activity.*'], athleteId: 'b' }, change)).toBe(false);
  });

  it('a query without patterns depends on no change', () => {
    expect(isConcerned({}, change)).toBe(false);
  });
});
