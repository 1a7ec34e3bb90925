import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProductProcess } from '../harness/process.js';
import { type JobBody, type StateBody, World } from '../harness/world.js';

describe('examples/own-processor', () => {
  let world: World;
  let stairs: ProductProcess;
  const athlete = randomUUID();
  beforeAll(async () => {
    world = await World.start({ workers: 0 });
    stairs = await ProductProcess.start('examples/own-processor', world.env);
    await world.call(athlete, 'GET', '/v1/me');
  });
  afterAll(async () => {
    await stairs?.stop();
    await world?.stop();
  });

  async function climbed(metres: number): Promise<string> {
    const [{ id } = { id: '' }] = await world.rows<{ id: string }>(
      `insert into activity (
         provider, athlete_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s, elevation_gain_m, manual, private,
         total_photo_count, asked_at
       )
       values ('strava', $1, 'Hike', 'Hike', now(), 5000, 3600, 3600, $2, true, false, 0, now())
       returning id`,
      [athlete, metres],
    );
    return id;
  }

  it('a worker with the example’s processor processes the requested activities', async () => {
    for (const [metres, found] of [
      [12, { last_profile_id: 'house', last_title: '4 storeys', result: { storeys: 4 } }],
      [300, { last_profile_id: 'tower', last_title: '100 storeys', result: { storeys: 100 } }],
    ] as const) {
      const id = await climbed(metres);
      const { body } = await world.call<JobBody>(athlete, 'POST', `/v1/activities/${id}/process`);
      await world.jobUntil(athlete, body.job_id, 'succeeded');
      const state = await world.call<StateBody>(athlete, 'GET', `/v1/activities/${id}/state`);
      expect(state.body).toMatchObject({ state: 'succeeded', ...found });
    }
    const snapshots = await world.rows('select payload_json from config_snapshots');
    expect(snapshots).toMatchObject([{ payload_json: { processor: 'stairs' } }]);
  });

  it('the guide shows the code of the example’s processor', () => {
    const guide = readFileSync('docs/how-to-add-a-processor.md', 'utf8');
    const [, shown] = /```ts\n(@Injectable\(\)\n[^`]*(?:`[^`\n]*`[^`]*)*?)```/.exec(guide) ?? [];
    expect(shown).toBeDefined();
    expect(readFileSync('examples/own-processor/stairs.ts', 'utf8')).toContain(shown);
  });
});
