import { describe, expect, it } from '@jest/globals';
import { isUuid, shortName } from './ids.js';

const ID = '31db0ef7-800a-4e13-887a-dad106f02998';

describe('ids', () => {
  it('isUuid accepts only a whole UUID', () => {
    expect(isUuid(ID)).toBe(true);
    expect([ID.slice(1), `${ID}0`, `auth0|${ID}`].some(isUuid)).toBe(false);
  });

  it('shortName returns the beginning of a UUID, and any other name unchanged', () => {
    expect(shortName(ID)).toBe('31db0ef7');
    expect(shortName('Anna (auth0|17)')).toBe('Anna (auth0|17)');
  });
});
