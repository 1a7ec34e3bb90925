import { describe, expect, it } from '@jest/globals';
import { type EventBus, MessageMalformed } from '#platform';
import { NativeNights } from './native-nights.js';
import { type Payload } from './vendor-records.js';

const NOW = Date.parse('2026-11-18T09:00:00Z');

describe('NativeNights', () => {
  const record = (state: 'scored' | 'deleted') =>
    ({ vendor: 'oura', id: 'a', revision: 1, nap: false, state }) as const;
  const payload = (date: string, state: 'scored' | 'deleted' = 'scored'): Payload => ({
    userId: 'ann',
    date,
    durationMinutes: 420,
    capturedAt: '2026-11-18T08:00:00Z',
    record: record(state),
  });
  const published = async (...payloads: Payload[]) => {
    const dates: string[] = [];
    const bus: Pick<EventBus, 'publish'> = {
      publish: (_, event) => {
        dates.push((event as { payload: Payload }).payload.date);
        return Promise.resolve({ stream: 'test', seq: 1, duplicate: false });
      },
    };
    const nights = new NativeNights(bus as EventBus, { nowMs: () => NOW });
    await nights.publish(payloads, new Date(NOW), 'connected').catch((error: unknown) => {
      expect(error).toBeInstanceOf(MessageMalformed);
      dates.push('refused');
    });
    return dates;
  };

  it('publishes the night of tomorrow, and refuses a batch with a later night', async () => {
    expect(await published(payload('2026-11-19'))).toEqual(['2026-11-19']);
    expect(await published(payload('2026-11-18'), payload('2026-11-20'))).toEqual(['refused']);
  });

  it('publishes the deletion of a sleep record with any date, also after tomorrow', async () => {
    expect(await published(payload('2027-01-01', 'deleted'))).toEqual(['2027-01-01']);
  });
});
