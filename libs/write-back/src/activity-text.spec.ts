import { describe, expect, it } from '@jest/globals';
import { authorOf } from './activity-text.js';

const OURS = { name: '6 × 800 m', description: 'Even.' };
const IMPORTED = 'Morning Run';

describe('authorOf', () => {
  it.each([
    ['untouched', 'Morning Run', null],
    ['untouched', 'Morning Run', ''],
    ['untouched', 'Morning Run', ' \n'],
    ['ours', '6 × 800 m', 'Even.'],
    ['ours', '6 × 800 m', 'Even.\n'],
    ['theirs', 'Morning Run', 'with Ann'],
    ['theirs', 'With Ann', null],
    ['theirs', 'With Ann', 'Even.'],
    ['theirs', '6 × 800 m', null],
    ['theirs', '6 × 800 m', 'Even. Ann was there.'],
    ['theirs', 'Morning Run', 'Even.'],
  ])('authorOf returns %s for the title %j and the description %j', (author, name, description) => {
    expect(authorOf({ name, description }, IMPORTED, OURS)).toBe(author);
  });

  it('authorOf returns theirs if the imported title is unknown', () => {
    expect(authorOf({ name: IMPORTED, description: null }, null, OURS)).toBe('theirs');
  });
});
