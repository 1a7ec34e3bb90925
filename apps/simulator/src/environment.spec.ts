import { expect, it } from '@jest/globals';
import { readEnvironment } from './environment.js';

it('starts with nothing set: port 4010 on loopback, in real time, any client welcome', () => {
  const { host, port, options } = readEnvironment({});
  expect({ host, port, scale: options.timeScale }).toEqual({ host: '127.0.0.1', port: 4010, scale: 1 });
  expect(options.apps?.strava?.clientId).toBeUndefined();
});

it('takes an empty variable for one that is not set', () => {
  expect(readEnvironment({ SIMULATOR_PORT: '', STRAVA_CLIENT_ID: '' })).toEqual(readEnvironment({}));
});

it('knows how many athletes Strava and Oura let a new app connect', () => {
  const { apps } = readEnvironment({ STRAVA_ATHLETE_CAPACITY: '10', OURA_ATHLETE_CAPACITY: '10' }).options;
  expect([apps?.strava?.athleteCapacity, apps?.oura?.athleteCapacity]).toEqual([10, 10]);
  expect(() => readEnvironment({ OURA_ATHLETE_CAPACITY: '0' })).toThrow(/OURA_ATHLETE_CAPACITY/);
});

it('names every problem at once', () => {
  expect(() => readEnvironment({ SIMULATOR_PORT: 'x', TIME_SCALE: '-1' })).toThrow(
    /SIMULATOR_PORT: .*; TIME_SCALE: /,
  );
});
