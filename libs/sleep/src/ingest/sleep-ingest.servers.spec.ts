import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EventBus, SystemClock } from '#platform';
import { silent, SleepWorld } from '../../../../test/harness/sleep-world.js';
import { IdempotencyKeyReused } from './sleep-ingest.js';
import { SleepIngest } from './sleep-ingest.js';

const KEY = { key: 'night-1', ingestKey: 'of-an-app' };
const night = { userId: 'user-456', date: '2025-10-02', durationMinutes: 420 };

describe('a night that is sent under an Idempotency-Key', () => {
  let world: SleepWorld;
  let ingest: SleepIngest;
  beforeAll(async () => {
    world = await SleepWorld.start();
    ingest = new SleepIngest(new EventBus(world.connection), new SystemClock(), silent);
  });
  afterAll(() => world?.stop());
  beforeEach(() => world.manager.streams.purge('AA_CORE_HOT'));

  const stored = async () =>
    (await world.events('AA_CORE_HOT', 'athlete-ally.>')).map(
      (event) => event.json<{ eventId: string }>().eventId,
    );
  const eraseAll = async () => {
    for (const { seq } of await world.events('AA_CORE_HOT', 'athlete-ally.>'))
      await world.manager.streams.deleteMessage('AA_CORE_HOT', seq);
  };

  it('stores a night once more under the same Idempotency-Key after each deletion that has erased it from the stream', async () => {
    const ids = [await ingest.accept(night, KEY)];
    for (const _ of [1, 2]) {
      await eraseAll();
      const id = await ingest.accept(night, KEY);
      expect(await ingest.accept(night, KEY)).toBe(id);
      expect(await stored()).toEqual([id]);
      ids.push(id);
    }
    expect(new Set(ids).size).toBe(3);
    await expect(ingest.accept({ ...night, durationMinutes: 430 }, KEY)).rejects.toBeInstanceOf(
      IdempotencyKeyReused,
    );
  });
});
