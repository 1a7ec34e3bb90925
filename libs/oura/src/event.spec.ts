import { describe, expect, it } from '@jest/globals';
import { InvalidInput } from '#platform';
import { readOuraEvent } from './event.js';

const wire = {
  event_type: 'update',
  data_type: 'sleep',
  object_id: '6f1c9a52-0d5e-4b0e-9a3e-3b1f6c2d7e11',
  event_time: '2026-11-18T06:30:00+00:00',
  user_id: 'u-7c1',
};

describe('an event of Oura', () => {
  it('says where to look, and has the same key when it is sent again', () => {
    const event = readOuraEvent(JSON.stringify(wire));
    expect(event).toMatchObject({
      type: 'update',
      dataType: 'sleep',
      objectId: wire.object_id,
      userId: 'u-7c1',
    });
    const again = { ...wire, event_time: '2026-11-18T07:30:00+01:00' };
    expect(readOuraEvent(JSON.stringify(again)).dedupeKey).toBe(event.dedupeKey);
  });

  it.each([['event_type'], ['object_id'], ['event_time'], ['user_id']])(
    'has another key with another %s',
    (field) => {
      const other = { ...wire, [field]: field === 'event_time' ? '2026-11-18T06:30:01Z' : 'delete' };
      expect(readOuraEvent(JSON.stringify(other)).dedupeKey).not.toBe(
        readOuraEvent(JSON.stringify(wire)).dedupeKey,
      );
    },
  );

  it.each(['', 'null', '[]', '{}', JSON.stringify({ ...wire, event_time: 'now' })])('is not %j', (raw) => {
    expect(() => readOuraEvent(raw)).toThrow(InvalidInput);
  });
});
