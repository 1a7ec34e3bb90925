import { expect, it } from '@jest/globals';
import { VENDORS_WITH_ATHLETES } from './core/index.js';
import { readEnvironment } from './environment.js';

it('without environment variables the simulator uses 127.0.0.1:4010 and real time, and accepts any client', () => {
  const { host, port, options } = readEnvironment({});
  expect({ host, port, scale: options.timeScale }).toEqual({ host: '127.0.0.1', port: 4010, scale: 1 });
  expect(options.apps?.strava?.clientId).toBeUndefined();
});

it('the simulator treats an empty environment variable as not set', () => {
  expect(readEnvironment({ SIMULATOR_PORT: '', STRAVA_CLIENT_ID: '' })).toEqual(readEnvironment({}));
});

it.each(VENDORS_WITH_ATHLETES)(
  'the simulator reads the app of %s from its environment variables',
  (vendor) => {
    const prefix = vendor.toUpperCase();
    const { apps } = readEnvironment({
      [`${prefix}_CLIENT_ID`]: '7',
      [`${prefix}_CLIENT_SECRET`]: 's',
    }).options;
    expect(apps?.[vendor]).toMatchObject({ clientId: '7', clientSecret: 's' });
  },
);

it('the simulator reads the athlete capacity of Strava and Oura, which is at least 1', () => {
  const { apps } = readEnvironment({ STRAVA_ATHLETE_CAPACITY: '10', OURA_ATHLETE_CAPACITY: '10' }).options;
  expect([apps?.strava?.athleteCapacity, apps?.oura?.athleteCapacity]).toEqual([10, 10]);
  expect(() => readEnvironment({ OURA_ATHLETE_CAPACITY: '0' })).toThrow(/OURA_ATHLETE_CAPACITY/);
});

it('the simulator names every wrong environment variable in one error', () => {
  expect(() => readEnvironment({ SIMULATOR_PORT: 'x', TIME_SCALE: '-1' })).toThrow(
    /SIMULATOR_PORT: .*; TIME_SCALE: /,
  );
  expect(() => readEnvironment({ SIMULATOR_PORT: 'x', POLAR_ATHLETE_CAPACITY: '0' })).toThrow(
    /SIMULATOR_PORT: .*; POLAR_ATHLETE_CAPACITY: /,
  );
});

it('the simulator refuses to start in production, since its controls are open, unless ALLOW_UNSAFE=1', () => {
  expect(() => readEnvironment({ NODE_ENV: 'production' })).toThrow(/^NODE_ENV: .*ALLOW_UNSAFE=1/);
  expect(readEnvironment({ NODE_ENV: 'production', ALLOW_UNSAFE: '1' }).port).toBe(4010);
});
