import { describe, expect, it } from '@jest/globals';
import { timeScale } from '#platform';
import { PromptShare } from './prompt-share.js';

describe('the share of impatient readers', () => {
  it('is two fetches of an athlete at once', () => {
    const share = new PromptShare(timeScale(1));
    const athletes = ['ann', 'ann', 'ann', 'ben'];
    expect(athletes.map((athlete) => share.take(athlete))).toEqual(['taken', 'taken', 'busy', 'taken']);
    share.end('ann');
    expect([share.take('ann'), share.take('ann')]).toEqual(['taken', 'busy']);
  });

  it('is twenty of an athlete in a window', () => {
    const share = new PromptShare(timeScale(1));
    const answers = Array.from({ length: 25 }, () => {
      const answer = share.take('ann');
      if (answer === 'taken') share.end('ann');
      return answer;
    });
    expect(answers.filter((answer) => answer === 'taken')).toHaveLength(20);
    expect([share.take('ann'), share.take('ben')]).toEqual(['spent', 'taken']);
  });
});
