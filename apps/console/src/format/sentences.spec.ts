import { describe, expect, it } from '@jest/globals';
import { progressSentence } from './sentences.js';

const NOW = new Date('2026-03-03T12:00:00Z');
const said = (progress: Parameters<typeof progressSentence>[0]) => progressSentence(progress, NOW, 'UTC');

describe('progressSentence', () => {
  it('says when work resumes and when it is done', () => {
    expect(said({ resumesAt: '2026-03-03T14:15:00Z', doneBy: '2026-03-05T09:30:00Z' })).toBe(
      'resumes at 14:15, done by Thursday 09:30',
    );
    expect(said({ doneBy: '2026-03-03T13:00:00Z' })).toBe('done by 13:00');
  });

  it('leaves out moments that are over', () => {
    expect(said({ resumesAt: '2026-03-03T11:59:00Z', doneBy: null })).toBe('');
  });

  it('a paused backfill has no end', () => {
    expect(said({ isPaused: true, doneBy: '2026-03-05T09:30:00Z' })).toBe('paused by an operator');
  });
});
