import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connected, Harness } from '../simulator.harness.js';

const ALL_KEYS =
  'time,distance,latlng,altitude,velocity_smooth,heartrate,cadence,watts,temp,moving,grade_smooth';

let sim: Harness;
let athlete: Connected;
beforeEach(async () => {
  sim = await Harness.open();
  athlete = await sim.connect({ activities: 0 });
});
afterEach(() => sim.close());

interface Stream {
  type?: string;
  data: unknown[];
  series_type: string;
  original_size: number;
  resolution: string;
}

const upload = async (order: Record<string, unknown> = {}) =>
  (await sim.sim('/activities', { athlete_id: athlete.id, ...order })) as {
    id: string;
    elapsed_time_s: number;
  };
const streams = (id: string, query: string) =>
  sim.get(`/api/v3/activities/${id}/streams?${query}`, athlete.accessToken);

describe('GET /activities/{id}/streams', () => {
  it('streams with key_by_type=true are an object of the eleven keys', async () => {
    const { id } = await upload({ sport_type: 'Ride', power_w: 200 });
    const body = (await streams(id, `keys=${ALL_KEYS}&key_by_type=true`)).body as Record<string, Stream>;
    expect(ALL_KEYS.split(',')).toEqual(expect.arrayContaining(Object.keys(body)));
    expect(Object.keys(body)).toEqual(expect.arrayContaining(['time', 'distance', 'latlng', 'moving']));
    const sizes = Object.values(body).map(({ data }) => data.length);
    expect(new Set(sizes).size).toBe(1);
    expect(body.time).toMatchObject({ series_type: 'distance', original_size: sizes[0], resolution: 'high' });
  });

  it('streams without key_by_type are an array of typed items', async () => {
    const { id } = await upload();
    const body = (await streams(id, 'keys=time,distance')).body as Stream[];
    expect(body.map(({ type }) => type)).toEqual(['time', 'distance']);
    expect(body[0]).toMatchObject({ series_type: 'distance', resolution: 'high' });
  });

  it.each(['', 'key_by_type=true', 'keys='])(
    'streams without keys answer 400 and a Fault (query "%s")',
    async (query) => {
      const { id } = await upload();
      const { status, body } = await streams(id, query);
      expect(status).toBe(400);
      expect(body.errors).toEqual([{ resource: 'Stream', field: 'keys', code: 'required' }]);
    },
  );

  it('streams ignore the parameters resolution and series_type', async () => {
    const { id } = await upload();
    const plain = await streams(id, 'keys=time,distance');
    const asked = await streams(id, 'keys=time,distance&resolution=low&series_type=time');
    expect(asked.text).toBe(plain.text);
  });

  it('streams without distance have series_type time', async () => {
    const { id } = await upload({ sport_type: 'WeightTraining' });
    const [time] = (await streams(id, 'keys=time')).body as Stream[];
    expect(time).toMatchObject({ type: 'time', series_type: 'time', resolution: 'high' });
  });

  it('streams accept the keys in the path, because older libraries send them there', async () => {
    const { id } = await upload();
    const { body } = await sim.get(`/api/v3/activities/${id}/streams/time,moving`, athlete.accessToken);
    expect((body as Stream[]).map(({ type }) => type)).toEqual(['time', 'moving']);
  });

  it('streams contain the requested keys, without unknown keys and missing channels', async () => {
    const { id } = await upload({ missing_channels: ['heartrate'] });
    const { body } = await streams(id, 'keys=time,heartrate,nonsense&key_by_type=true');
    expect(Object.keys(body as object)).toEqual(['time']);
  });

  it('the time stream has a gap where the watch was paused', async () => {
    const { id } = await upload({
      stops: [{ after_moving_s: 300, seconds: 120, paused: true }],
      duration_s: 1800,
    });
    const { time } = (await streams(id, 'keys=time&key_by_type=true')).body as { time: { data: number[] } };
    const steps = time.data.slice(1).map((second, index) => second - time.data[index]!);
    expect(Math.max(...steps)).toBeGreaterThanOrEqual(120);
    expect(Math.min(...steps)).toBeGreaterThan(0);
  });

  it('streams of a manual activity answer 404 "Resource Not Found", and the detail of the activity says manual:true', async () => {
    const { id } = await upload({ manual: true, duration_s: 1800 });
    const { status, body } = await streams(id, `keys=${ALL_KEYS}`);
    expect(status).toBe(404);
    expect(body).toMatchObject({ message: 'Resource Not Found', errors: [{ resource: 'Activity' }] });
    expect((await sim.get(`/api/v3/activities/${id}`, athlete.accessToken)).body.manual).toBe(true);
  });

  it('streams of a fresh upload answer 404 until streams_late_s has passed', async () => {
    const { id } = await upload({ streams_late_s: 600 });
    expect((await streams(id, 'keys=time')).status).toBe(404);
    sim.time.advance(600_000 - 1);
    expect((await streams(id, 'keys=time')).status).toBe(404);
    sim.time.advance(1);
    expect((await streams(id, 'keys=time')).status).toBe(200);
  });

  it('the fault late delays the streams of every upload', async () => {
    await sim.sim('/faults', { vendor: 'strava', kind: 'late', delay_ms: 60_000 });
    const { id } = await upload();
    expect((await streams(id, 'keys=time')).status).toBe(404);
    sim.time.advance(60_000);
    expect((await streams(id, 'keys=time')).status).toBe(200);
  });

  it('streams answer the same bytes each time', async () => {
    const { id } = await upload();
    const first = await streams(id, `keys=${ALL_KEYS}`);
    expect((await streams(id, `keys=${ALL_KEYS}`)).text).toBe(first.text);
  });
});
