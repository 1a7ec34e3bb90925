import { describe, expect, it } from '@jest/globals';
import { whoseWords } from './words.js';

const OURS = { name: '6 × 800 m', description: 'Even.' };
const IMPORTED = 'Morning Run';

describe('the words at the vendor are', () => {
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
  ])('%s: %j, %j', (whose, name, description) => {
    expect(whoseWords({ name, description }, IMPORTED, OURS)).toBe(whose);
  });

  it('theirs, where nobody knows what they were at the import', () => {
    expect(whoseWords({ name: IMPORTED, description: null }, null, OURS)).toBe('theirs');
  });
});
