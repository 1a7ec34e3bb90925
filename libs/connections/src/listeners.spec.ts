import { expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import { ConnectionListeners } from './listeners.js';

it('calls every connection listener, also when the first listener fails, and logs the failure', async () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const listeners = new ConnectionListeners(createLogger({ level: 'error', process: 'test', destination }));
  const calls: string[] = [];
  const listener = (name: string, fail: boolean) => {
    const note = (event: string) => (athleteId: string, provider: string) => {
      calls.push(`${name} ${event} ${athleteId} ${provider}`);
      if (fail) throw new Error('broken');
      return Promise.resolve();
    };
    return { connected: note('connected'), disconnected: note('disconnected') };
  };
  listeners.register(listener('first', true));
  listeners.register(listener('second', false));
  await listeners.connected('ann', 'strava');
  await listeners.disconnected('ann', 'oura');
  expect(calls).toEqual([
    'first connected ann strava',
    'second connected ann strava',
    'first disconnected ann oura',
    'second disconnected ann oura',
  ]);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { msg: 'a connection listener failed', err: { message: 'broken' } },
    { msg: 'a connection listener failed', err: { message: 'broken' } },
  ]);
});
