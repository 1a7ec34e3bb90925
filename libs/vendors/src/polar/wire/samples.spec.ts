import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toStreams } from './samples.js';

type Channels = Readonly<Record<string, ReadonlyArray<number | null>>>;

const sample = (type: number, data: string, rate: number | null = 1) => ({
  'recording-rate': rate,
  'sample-type': String(type),
  data,
});
const streams = (samples: unknown[], more: object = {}) => toStreams({ samples, ...more }) as Channels;
const point = (second: number, latitude = 60 + second / 1_000) => ({
  latitude,
  longitude: 25.1,
  time: `PT${second}S`,
  satellites: 9,
  fix: 1,
});

describe('toStreams', () => {
  it('puts each sample type of Polar on its channel and converts its unit', () => {
    expect(
      streams([
        sample(0, '98,99'),
        sample(1, '0,36'),
        sample(3, '12.5,-3'),
        sample(4, '0,250'),
        sample(5, '50,50'),
        sample(8, '170,0'),
        sample(9, '21.5,22'),
        sample(10, '0,10'),
        sample(11, '600,610', null),
      ]),
    ).toEqual({
      time: [0, 1],
      heartrate: [98, 99],
      velocity_smooth: [0, 10],
      altitude: [12.5, -3],
      watts: [0, 250],
      cadence: [85, 0],
      temp: [21.5, 22],
      distance: [0, 10],
    });
  });

  it('keeps the cadence of a ride, and prefers that of a run', () => {
    expect(streams([sample(2, '90,91')]).cadence).toEqual([90, 91]);
    expect(streams([sample(2, '90,91'), sample(8, '170,172')]).cadence).toEqual([85, 86]);
  });

  it('reads null, an empty item, a word and 0 bpm of Polar as no heart rate', () => {
    expect(streams([sample(0, '98,null,,0, 99 ,x')]).heartrate).toEqual([98, null, null, null, 99, null]);
  });

  it('keeps 0 as the value of any other Polar sample', () => {
    expect(streams([sample(4, '0,null,'), sample(1, '0,null,')])).toEqual({
      time: [0, 1, 2],
      watts: [0, null, null],
      velocity_smooth: [0, null, null],
    });
  });

  it('leaves out a channel without any value', () => {
    expect(streams([sample(0, '0,0,null'), sample(3, '1,2,3')])).toEqual({
      time: [0, 1, 2],
      altitude: [1, 2, 3],
    });
  });

  it.each([
    ['no samples', {}],
    ['null samples', { samples: null, route: null }],
    ['an empty list', { samples: [], route: [] }],
    ['only RR intervals', { samples: [sample(11, '600,610', 0)] }],
    ['samples without data', { samples: [{ 'sample-type': '0', 'recording-rate': 1 }, sample(3, '')] }],
    ['samples without a value', { samples: [sample(0, 'null,null')] }],
  ])('has no stream for an exercise of Polar with %s', (_, json) => {
    expect(toStreams(json)).toEqual({});
  });

  it('takes the longer one of two lists of the same Polar sample type', () => {
    expect(streams([sample(0, '90'), sample(0, '98,99'), sample(0, '98,99')]).heartrate).toEqual([98, 99]);
  });

  it.each([
    ['cumulative', '0,3,7,10', 10, [0, 3, 7, 10]],
    ['per sample', '0,3,4,3', 10, [0, 3, 7, 10]],
    ['per sample with a gap', '0,3,null,7', 10, [0, 3, null, 10]],
    ['cumulative with a gap that is written as 0', '0,3,0,10', 10, [0, 3, null, 10]],
    ['cumulative, without a distance of the exercise', '0,3,7,7', null, [0, 3, 7, 7]],
    ['per sample, without a distance of the exercise', '0,3,4,2', null, [0, 3, 7, 9]],
  ])('reads Polar distance samples that are %s', (_, data, distance, expected) => {
    expect(streams([sample(10, data)], { distance }).distance).toEqual(expected);
  });

  it('takes the position of the nearest point of the route, and none in a pause', () => {
    const route = [0.026, 2.026, 4.026, 20.026, 22.026].map((second) => point(second));
    const { latlng } = streams([sample(0, Array(23).fill('100').join(','))], { route });
    const latitudes = (latlng as unknown as Array<[number, number] | null>).map((pair) => pair?.[0] ?? null);
    expect(latitudes.slice(0, 6)).toEqual([60.000026, 60.000026, 60.002026, 60.002026, 60.004026, 60.004026]);
    expect(latitudes.slice(7, 18)).toEqual(Array(11).fill(null));
    expect(latitudes.slice(19)).toEqual([60.020026, 60.020026, 60.020026, 60.022026]);
  });

  it('uses the times of the route for an exercise of Polar without samples, in order and without unreadable points', () => {
    const route = [point(4), point(0), { latitude: 91, longitude: 0, time: 'PT1S' }, { time: 'PT2S' }, null];
    expect(toStreams({ route })).toEqual({
      time: [0, 4],
      latlng: [
        [60, 25.1],
        [60.004, 25.1],
      ],
    });
  });

  it('refuses samples whose rates make a grid of more than 500,000 values', () => {
    const rare = sample(0, '1,2', 1_000_000);
    expect(() => streams([rare, sample(3, '1,2', 1)])).toThrow('500000 values');
    expect(() => streams([sample(3, '1,2', 1e-9), sample(0, '1,2')])).toThrow('500000 values');
  });

  const value = fc.option(fc.integer({ min: 1, max: 250 }), { nil: null });
  const series = fc.record({
    rate: fc.constantFrom(1, 2, 5, 7, 10, 60),
    values: fc.array(value, { minLength: 1, maxLength: 60 }),
  });

  it('gives all channels the length of time, and each value of a type to the seconds until its next one (property)', () => {
    fc.assert(
      fc.property(series, series, fc.constantFrom('null', ''), (heart, power, gap) => {
        const data = ({ values }: typeof heart) => values.map((one) => one ?? gap).join(',');
        const made = streams([sample(0, data(heart), heart.rate), sample(4, data(power), power.rate)]);
        const { time = [], ...channels } = made;
        const step = Math.min(
          ...[heart, power]
            .filter((one) => one.values.length > 1 || data(one) !== '')
            .map(({ rate }) => rate),
        );
        time.forEach((second, index) => expect(second).toBe(index * step));
        for (const values of Object.values(channels)) {
          expect(values).toHaveLength(time.length);
          expect(values.some((one) => one !== null)).toBe(true);
        }
        const expected = (one: typeof heart) =>
          time.map((second) => one.values[Math.floor((second ?? 0) / one.rate)] ?? null);
        if (channels.heartrate) expect(channels.heartrate).toEqual(expected(heart));
        if (channels.watts) expect(channels.watts).toEqual(expected(power));
        const seconds = ({ rate, values }: typeof heart) => (values.length - 1) * rate;
        if (time.length > 0)
          expect(time.at(-1)).toBeGreaterThan(Math.max(seconds(heart), seconds(power)) - step);
      }),
    );
  });

  it('never throws anything but a ZodError, and never returns channels of other lengths, for any samples (property)', () => {
    const anySample = fc.record({
      'sample-type': fc.constantFrom('0', '1', '3', '8', '10', '11', '99', 4),
      'recording-rate': fc.constantFrom(null, 0, -1, 1, 2.5, 60),
      data: fc.oneof(fc.string(), fc.array(fc.double(), { maxLength: 20 }).map(String), fc.constant(null)),
    });
    const anyRoute = fc.array(
      fc.record({
        latitude: fc.double(),
        longitude: fc.double({ min: -180, max: 180 }),
        time: fc.constant('PT3S'),
      }),
    );
    fc.assert(
      fc.property(fc.array(anySample, { maxLength: 5 }), anyRoute, (samples, route) => {
        const made = toStreams({ samples, route }) as Channels;
        const lengths = new Set(Object.values(made).map(({ length }) => length));
        expect(lengths.size).toBeLessThanOrEqual(1);
        for (const values of Object.values(made))
          for (const one of values) expect(Number.isNaN(one)).toBe(false);
      }),
    );
  });
});
