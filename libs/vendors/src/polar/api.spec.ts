import { describe, expect, it } from '@jest/globals';
import { type OutboundAnswer } from '#reliability';
import { VendorAnswers } from '../call/vendor-answer.js';
import { type CallContext, type VendorCalls, type VendorRequest } from '../call/vendor-calls.js';
import { PolarExercises, PolarNights } from './api.js';

const CONTEXT: CallContext = { athleteId: 'ann', class: 'live' };
const EXERCISE = { id: 'aQlC83', start_time: '2026-11-17T19:05:02', start_time_utc_offset: 120 };
const NIGHT = { date: '2026-11-18' };

/** Polar with one scripted answer; records the paths of the requests. */
function setting(status: number, body: unknown) {
  const paths: string[] = [];
  const answers = new VendorAnswers('Polar');
  const text = status === 204 ? '' : JSON.stringify(body);
  const headers: Record<string, string> = status === 204 ? {} : { 'content-type': 'application/json' };
  const answer: OutboundAnswer = { status, headers, body: Buffer.from(text) };
  const calls = {
    answers,
    call: <T>(_: CallContext, { path }: VendorRequest, parse: (json: unknown) => T) => {
      paths.push(path);
      return Promise.resolve(answers.read(answer, parse));
    },
  } as unknown as VendorCalls;
  return { paths, exercises: new PolarExercises(calls), nights: new PolarNights(calls) };
}

describe('PolarExercises', () => {
  it('lists all exercises of Polar in one call without samples', async () => {
    const { exercises, paths } = setting(200, [EXERCISE]);
    expect(await exercises.list(CONTEXT)).toMatchObject({ kind: 'ok', value: { length: 1 } });
    expect(paths).toEqual(['/exercises']);
  });

  it('reads a 204 as an empty list of exercises, and a 404 as an outage', async () => {
    expect(await setting(204, '').exercises.list(CONTEXT)).toMatchObject({
      kind: 'ok',
      value: { length: 0 },
    });
    const missing = await setting(404, {}).exercises.list(CONTEXT);
    expect(missing).toMatchObject({ kind: 'broken', because: 'outage' });
  });

  it('requests an exercise without samples, and its streams with samples and route', async () => {
    const { exercises, paths } = setting(200, EXERCISE);
    expect(await exercises.activity(CONTEXT, 'aQlC83')).toMatchObject({
      kind: 'ok',
      value: { id: 'aQlC83' },
    });
    expect(await exercises.streams(CONTEXT, 'aQlC83')).toEqual({ kind: 'ok', value: {} });
    expect(paths).toEqual(['/exercises/aQlC83', '/exercises/aQlC83?samples=true&route=true']);
  });

  it.each(['', '../users', 'a/b', 'a?b', 'é', 'a'.repeat(65)])(
    'makes no call to Polar for the id %j, which cannot be one of Polar’s',
    async (id) => {
      const { exercises, paths } = setting(200, EXERCISE);
      expect(await exercises.activity(CONTEXT, id)).toMatchObject({ kind: 'gone' });
      expect(await exercises.streams(CONTEXT, id)).toMatchObject({ kind: 'gone' });
      expect(paths).toEqual([]);
    },
  );

  it('makes no call to Polar for photos', async () => {
    const { exercises, paths } = setting(200, EXERCISE);
    expect([await exercises.photos(), paths]).toEqual([{ kind: 'ok', value: [] }, []]);
  });
});

describe('PolarNights', () => {
  it('requests the night of a date of Polar', async () => {
    const { nights, paths } = setting(200, NIGHT);
    const found = await nights.recordsOf(CONTEXT, { about: 'sleep', id: '2026-11-18' });
    expect(found).toMatchObject({ kind: 'ok', value: [{ id: '2026-11-18' }] });
    expect(await nights.recordsOf(CONTEXT, { about: 'sleep', id: 'available' })).toMatchObject({
      kind: 'gone',
    });
    expect(paths).toEqual(['/users/sleep/2026-11-18']);
  });

  it('lists the readable nights of Polar, and the problems of the others', async () => {
    const { nights } = setting(200, { nights: [NIGHT, { date: 'x' }] });
    expect(await nights.list(CONTEXT)).toMatchObject({
      kind: 'ok',
      value: { records: [{ id: '2026-11-18' }], unreadable: ['date: Invalid ISO date'] },
    });
  });

  it('reads a 204 as an empty list of nights, and a 404 as an outage', async () => {
    expect(await setting(204, '').nights.list(CONTEXT)).toMatchObject({ kind: 'ok', value: { records: [] } });
    expect(await setting(404, {}).nights.list(CONTEXT)).toMatchObject({ kind: 'broken', because: 'outage' });
  });
});
