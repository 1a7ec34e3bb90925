import { describe, expect, it } from '@jest/globals';
import { InvalidInput } from '#platform';
import { readWhoopEvent } from './event.js';

const wire = { user_id: 10_129, id: 'ecfc6a15', type: 'sleep.updated', trace_id: 'e369c784' };

describe('an event of WHOOP', () => {
  it('says where to look; ids are text', () => {
    const event = { userId: '10129', id: 'ecfc6a15', type: 'sleep.updated', traceId: 'e369c784' };
    expect(readWhoopEvent(JSON.stringify(wire))).toEqual(event);
  });

  it.each(['', 'null', '[]', '{}', JSON.stringify({ ...wire, trace_id: undefined })])('is not %j', (raw) => {
    expect(() => readWhoopEvent(raw)).toThrow(InvalidInput);
  });
});
