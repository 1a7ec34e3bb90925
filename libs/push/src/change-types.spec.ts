import { describe, expect, it } from '@jest/globals';
import { CHANGE_TYPES } from '#platform';
import { changeTypesIn, TYPE_FILTERS } from './change-types.js';

describe('a list of types', () => {
  it('a list of types names single types and groups, each once', () => {
    expect(changeTypesIn(['sleep.stored', 'sleep.*', 'athlete.deleted'])).toEqual([
      'sleep.stored',
      'sleep.removed',
      'athlete.deleted',
    ]);
    expect(changeTypesIn(['activity.*'])).toEqual(
      CHANGE_TYPES.filter((type) => type.startsWith('activity.')),
    );
  });

  it('changeTypesIn returns all types for *, and at least one type for each name that an endpoint may have', () => {
    expect(changeTypesIn(['*'])).toEqual(CHANGE_TYPES);
    for (const name of TYPE_FILTERS) expect(changeTypesIn([name])).not.toEqual([]);
  });

  it.each(['', '.*', 'activity', 'activity.', 'act.*', 'activity.*.*', 'erased', 'Activity.*'])(
    'a list of types cannot contain %j',
    (name) => {
      expect(() => changeTypesIn(['sleep.*', name])).toThrow(
        expect.objectContaining({ details: [expect.stringMatching(/^types: /)] }),
      );
    },
  );
});
