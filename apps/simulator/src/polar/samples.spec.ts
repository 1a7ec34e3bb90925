import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Harness } from '../simulator.harness.js';
import { openSimulator } from '../wearables/wearable.harness.js';
import { connect, setHabits, train } from './polar.harness.js';

interface Sample {
  'recording-rate': number | null;
  'sample-type': string;
  data: string;
}

let sim: Harness;
let athlete: { id: string; token: string };

beforeEach(async () => {
  sim = await openSimulator();
  athlete = await connect(sim);
});
afterEach(() => sim.close());

async function body(id: string) {
  const path = `/polar/v3/exercises/${id}?samples=true&zones=true&route=true`;
  return (await sim.get(path, athlete.token)).body as Record<string, unknown> & {
    samples: Sample[];
    distance: number;
  };
}

async function samples(order: Record<string, unknown> = {}): Promise<Map<string, Sample>> {
  const { id } = await train(sim, athlete.id, order);
  return new Map((await body(id)).samples.map((sample) => [sample['sample-type'], sample]));
}

function valuesOf(sample: Sample | undefined): (number | null)[] {
  return sample!.data.split(',').map((text) => (text === 'null' ? null : Number(text)));
}

describe('samples of a Polar exercise', () => {
  it('a run of Polar has the sample types 0, 1, 3, 8, 9 and 10 as comma strings, one value per second from the start on', async () => {
    const found = await samples({ duration_s: 600 });
    expect([...found.keys()].sort()).toEqual(['0', '1', '10', '3', '8', '9']);
    for (const sample of found.values()) {
      expect(sample['recording-rate']).toBe(1);
      expect(valuesOf(sample)).toHaveLength(601);
    }
  });

  it('a ride of Polar with power has the sample types 2 and 4, and no type 8', async () => {
    const found = await samples({ sport_type: 'VirtualRide', power_w: 200 });
    expect(found.has('2') && found.has('4')).toBe(true);
    expect(found.has('8')).toBe(false);
  });

  it('samples of Polar have speed in km/h, running cadence in steps of both feet, distance cumulative up to the distance', async () => {
    const { id } = await train(sim, athlete.id, { distance_m: 3000, duration_s: 900 });
    const found = await body(id);
    const of = (type: string) => valuesOf(found.samples.find((sample) => sample['sample-type'] === type));
    expect(mean(of('1'))).toBeCloseTo(12, 0);
    expect(mean(of('8'))).toBeGreaterThan(130);
    expect(of('10').at(-1)).toBeCloseTo(found.distance, 0);
  });

  it('distance samples of Polar are per interval when the habit distance_samples says so, with the same sum', async () => {
    const { id } = await train(sim, athlete.id, { distance_m: 3000, duration_s: 900, recording_rate: 5 });
    await setHabits(sim, { distance_samples: 'per_sample' });
    const { samples: found, distance } = await body(id);
    const metres = valuesOf(found.find((sample) => sample['sample-type'] === '10'));
    expect(metres[0]).toBe(0);
    expect(Math.abs(metres.reduce<number>((sum, value) => sum + value!, 0) / distance - 1)).toBeLessThan(
      0.01,
    );
  });

  it('samples of Polar have the recording rates of the order, by type', async () => {
    const found = await samples({ recording_rate: 5, recording_rates: { 3: 10 } });
    expect(found.get('0')).toMatchObject({ 'recording-rate': 5 });
    expect(valuesOf(found.get('0'))).toHaveLength(121);
    expect(valuesOf(found.get('3'))).toHaveLength(61);
  });

  it('the first sample of Polar belongs to the start, or to one interval later when the habit first_sample says so', async () => {
    const { id } = await train(sim, athlete.id, { recording_rate: 5 });
    const from = async () => valuesOf((await body(id)).samples.find((one) => one['sample-type'] === '0'));
    const atStart = await from();
    await setHabits(sim, { first_sample: 'after_interval' });
    expect(await from()).toEqual(atStart.slice(1));
  });

  it.each([
    ['null', /,null,/],
    ['empty', /,,/],
    ['zero', /,0,0,0,/],
  ])('a sensor gap in the samples of Polar is written as the habit gap %s says', async (gap, expected) => {
    await setHabits(sim, { gap });
    const found = await samples({ gap_s: 20 });
    expect(found.get('0')!.data).toMatch(expected);
    expect(found.get('1')!.data).not.toMatch(/null|,,/);
    const missing = found
      .get('0')!
      .data.split(',')
      .filter((text) => ['null', '', '0'].includes(text));
    expect(missing).toHaveLength(20);
  });

  it('a pause at Polar counts in the duration and is null in the samples, or is in neither when the habit pauses says cut', async () => {
    const order = { duration_s: 600, stops: [{ after_moving_s: 300, seconds: 120, paused: true }] };
    const { id } = await train(sim, athlete.id, order);
    const heartRates = async () =>
      valuesOf((await body(id)).samples.find((one) => one['sample-type'] === '0'));
    const counted = await heartRates();
    expect(counted).toHaveLength(721);
    expect(counted.filter((value) => value === null).length).toBe(120);
    await setHabits(sim, { pauses: 'cut' });
    const cut = await heartRates();
    expect(cut).toHaveLength(601);
    expect(cut).not.toContain(null);
    expect((await body(id)).duration).toMatch(/^PT10M|^PT600/);
  });

  it('RR intervals of Polar add up to the session, have no grid and a recording rate of null, or 0 by habit', async () => {
    const { id } = await train(sim, athlete.id, { rr: true });
    const rr = async () => (await body(id)).samples.find((one) => one['sample-type'] === '11');
    expect((await rr())!['recording-rate']).toBeNull();
    const sum = valuesOf(await rr()).reduce<number>((total, value) => total + (value ?? 0), 0);
    expect(Math.abs(sum / 600_000 - 1)).toBeLessThan(0.01);
    await setHabits(sim, { rr_recording_rate: 0 });
    expect((await rr())!['recording-rate']).toBe(0);
  });

  it('a sample type of Polar appears twice when the habit repeated_sample_type names it', async () => {
    await setHabits(sim, { repeated_sample_type: '0' });
    const { id } = await train(sim, athlete.id);
    const types = (await body(id)).samples.map((one) => one['sample-type']);
    expect(types.filter((type) => type === '0')).toHaveLength(2);
  });

  it('five heart-rate zones of Polar adjoin, and their times add up to the time above the lowest limit', async () => {
    const { id } = await train(sim, athlete.id, { duration_s: 1800 });
    const { heart_rate_zones: zones } = await body(id);
    const found = zones as {
      index: number;
      'lower-limit': number;
      'upper-limit': number;
      'in-zone': string;
    }[];
    expect(found.map(({ index }) => index)).toEqual([1, 2, 3, 4, 5]);
    found.slice(1).forEach((zone, at) => expect(zone['lower-limit']).toBe(found[at]!['upper-limit']));
    const zoned = found.map((zone) => secondsOf(zone['in-zone'])).reduce((sum, seconds) => sum + seconds);
    const heartRates = valuesOf((await body(id)).samples.find((one) => one['sample-type'] === '0'));
    const above = heartRates.slice(0, -1).filter((bpm) => bpm! >= found[0]!['lower-limit']);
    expect(zoned).toBe(above.length);
  });

  it('a route of Polar has a grid of its own, counted from the start in seconds with fractions', async () => {
    const { id } = await train(sim, athlete.id);
    const route = (await body(id)).route as { latitude: number; longitude: number; time: string }[];
    expect(route[0]).toEqual({
      latitude: expect.any(Number),
      longitude: expect.any(Number),
      time: 'PT0.026S',
      satellites: expect.any(Number),
      fix: 1,
    });
    expect(route.slice(0, 3).map(({ time }) => time)).toEqual(['PT0.026S', 'PT2.026S', 'PT4.026S']);
    expect(route.some(({ time }) => /^PT[1-9]\d\d\.026S$/.test(time))).toBe(true);
  });
});

/** Seconds of an ISO 8601 duration of minutes and seconds. */
function secondsOf(duration: string): number {
  const [, minutes = '0', seconds = '0'] = /^PT(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(duration)!;
  return Number(minutes) * 60 + Number(seconds);
}

function mean(values: readonly (number | null)[]): number {
  const known = values.filter((value) => value !== null);
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}
