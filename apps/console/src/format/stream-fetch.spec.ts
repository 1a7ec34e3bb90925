import { describe, expect, it } from '@jest/globals';
import { fetchSentence } from './stream-fetch.js';

const NOW = new Date('2026-03-03T12:00:00Z');
const LATER = '2026-03-03T14:15:00Z';
const say = (facts: Omit<Parameters<typeof fetchSentence>[0], 'isManual'>) =>
  fetchSentence({ isManual: false, ...facts }, NOW, 'UTC');

describe('fetchSentence', () => {
  it('names the time of the next attempt while it lies ahead', () => {
    expect(say({ status: 'deferred', nextAttemptAt: LATER })).toContain('resumes at 14:15.');
    expect(say({ status: 'failed', nextAttemptAt: LATER })).toContain('may begin at 14:15.');
    expect(say({ status: 'deferred', nextAttemptAt: '2026-03-03T11:00:00Z' })).toContain(
      'when it is its turn.',
    );
  });

  it('a fetch without attempts waits for a reset', () => {
    expect(say({ status: 'failed', nextAttemptAt: LATER, attemptsLeft: 0 })).toContain('reset');
    expect(say({ status: 'failed', nextAttemptAt: null })).toContain('reset');
  });

  it('a manual entry has another reason than a vendor without streams', () => {
    expect(fetchSentence({ status: 'unavailable', isManual: true }, NOW)).toContain('typed');
    expect(say({ status: 'unavailable' })).toContain('vendor has no streams');
  });
});
