import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PushStorm } from '../chaos/push-storm.js';

// `npm run chaos push` is the long form, with 100,000 changes.
const CHANGES_PER_SECOND = 60;
const CHANGES_BETWEEN_KILLS = 200;
// The workers come first: an endpoint or a relay of a killed one is free after its lease of 30 s, which passes during the other kills.
const KILLS = [
  ['worker 1', 'worker 2', 'writer 1'],
  ['worker 1', 'nats'],
  ['api 1', 'postgres'],
  ['api 2', 'redis'],
] as const;

let storm: PushStorm;
beforeAll(async () => {
  storm = await PushStorm.start({ changesPerSecond: CHANGES_PER_SECOND, deadlineMs: 120_000 });
}, 180_000);
afterAll(() => storm?.stop());

it('every committed change reaches each reader of the routes once and in order, and NATS and each endpoint under its id, while all processes and servers are killed', async () => {
  for (const [round, targets] of KILLS.entries()) {
    await storm.written((round + 1) * CHANGES_BETWEEN_KILLS);
    await storm.kill(...targets);
  }
  await storm.written(storm.targets.confirmed.size + CHANGES_BETWEEN_KILLS);
  const verdicts = await storm.verdicts();
  expect(verdicts.map(({ reader }) => reader)).toHaveLength(6);
  for (const verdict of verdicts)
    expect(verdict).toMatchObject({ lost: 0, invented: 0, disordered: 0, arrived: verdicts[0]!.arrived });
  expect(verdicts.filter(({ reader }) => reader.startsWith('GET'))).toEqual([
    expect.objectContaining({ reader: 'GET /v1/changes', doubled: 0 }),
    expect.objectContaining({ reader: 'GET /v1/events', doubled: 0 }),
  ]);
  expect(await storm.unkept()).toBe(0);
  expect(storm.targets.rolledBack.size).toBeGreaterThan(0);
  expect(await storm.undead()).toBe(0);
  expect(storm.mistaken).toBe(0);
}, 300_000);
