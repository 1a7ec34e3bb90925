import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { encode, cutBody, cutAnswer, parseBody, type Stored, type StreamAnswer } from './answer.js';
import { downsample } from '../recording/downsample.js';
import { recordings } from '../recording/recording.harness.js';
import { readRecording, type Recording } from '../recording/recording.js';

const ID = '5a1fd1a4-6f0e-4a3a-8f66-7b9f4c3e2d10';
const fetchedAt = new Date('2026-11-18T09:00:00.123Z');

describe('the stored answer', () => {
  it('the stored answer contains any recording unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(recordings(), async (recording) => {
        const stored = await made(recording);
        const answer = read(stored.body);
        expect(answer.stream_data).toEqual(recording.channels);
        expect(Object.keys(answer.stream_data!)).toEqual(Object.keys(recording.channels));
        expect(JSON.parse(stored.streamData)).toEqual(recording.channels);
        expect(readRecording(answer.stream_data!)).toEqual(recording);
      }),
      { numRuns: 300 },
    );
  });

  it('the stored answer contains a recording of a whole day unchanged', async () => {
    const time = Array.from({ length: 86_400 }, (_, second) => second);
    const watts = time.map((second) => (second % 9 === 0 ? null : (second * 7_919) % 1_009));
    const latlng = time.map((second) => [second / 1_009, -second / 919]);
    const { body } = await made({ channels: { time, watts, latlng }, pointCount: time.length });
    // As text: jest takes seconds to compare so many numbers.
    expect(JSON.stringify(read(body).stream_data)).toBe(JSON.stringify({ time, watts, latlng }));
  });

  it('the stored answer has the fields of the contract in the order of the contract', async () => {
    const channels = { time: [0, 1], heartrate: [140, null] };
    const stored = await made({ channels, pointCount: 2 });
    expect(gunzipSync(stored.body).toString()).toBe(
      JSON.stringify({
        activity_id: ID,
        status: 'success',
        stream_data: channels,
        channels_available: ['time', 'heartrate'],
        point_count: 2,
        source: 'strava',
        fetched_at: '2026-11-18T09:00:00.123Z',
        error: null,
        retry_at: null,
      }),
    );
    expect(stored).toMatchObject({ channels: ['time', 'heartrate'], pointCount: 2 });
  });

  it('the stored answer has equal bytes and ETag for equal input, and another ETag for other input', async () => {
    const recording = { channels: { time: [0, 1] }, pointCount: 2 };
    const stored = await made(recording);
    expect(await made(recording)).toEqual(stored);
    expect(stored.etag).toMatch(/^[\w-]{43}$/);
    // The gzip header holds no time of compression.
    expect(stored.body.readUInt32LE(4)).toBe(0);
    const others = [
      await made({ channels: { time: [0, 2] }, pointCount: 2 }),
      await encode(ID, 'strava', new Date(0), recording),
      await encode(ID.replace('5', '6'), 'strava', fetchedAt, recording),
    ];
    expect(new Set([stored, ...others].map(({ etag }) => etag)).size).toBe(4);
  });
});

describe('the cut answer', () => {
  const choices = fc.record(
    {
      channels: fc.subarray(['time', 'latlng', 'watts', 'gear', 'constructor', 'nobody_has_this']),
      points: fc.integer({ min: 2, max: 80 }),
    },
    { requiredKeys: [] },
  );

  it('a cut differs from the whole answer in its channels and points only', async () => {
    await fc.assert(
      fc.asyncProperty(recordings(), choices, async (recording, wanted) => {
        const { body } = await made(recording);
        const requested = Object.entries(recording.channels).filter(
          ([name]) => !wanted.channels || wanted.channels.includes(name),
        );
        const part = { ...recording, channels: Object.fromEntries(requested) };
        const expected = wanted.points === undefined ? part : downsample(part, wanted.points);
        const text = gunzipSync(cutBody(body, wanted)).toString();
        expect(text).toBe(JSON.stringify({ ...read(body), stream_data: expected.channels }));
      }),
      { numRuns: 300 },
    );
  });

  it('a cut of a recording can be given up before each of its steps', async () => {
    const { body } = await made({ channels: { time: [0, 1, 2], watts: [1, 2, 3] }, pointCount: 3 });
    // One step begins after unzipping, one with each of the two channels, and one with gzip.
    const steps = 4;
    for (let step = 1; step <= steps + 1; step += 1) {
      let left = step;
      const beforeStep = () => {
        if (--left === 0) throw new Error('gone');
      };
      const cut = () => cutAnswer(parseBody(body, beforeStep), { points: 2 }, beforeStep);
      if (step <= steps) expect(cut).toThrow('gone');
      else expect(read(cut())).toMatchObject({ stream_data: { time: [0, 2], watts: [1, 3] } });
    }
  });

  it('a cut leaves out unknown channels, also if their name is "constructor" or "__proto__"', async () => {
    const { body } = await made({ channels: { time: [0] }, pointCount: 1 });
    const answer = read(cutBody(body, { channels: ['constructor', 'watts', '__proto__'] }));
    expect(answer).toMatchObject({ stream_data: {}, channels_available: ['time'], point_count: 1 });
  });

  it('a cut is refused if the stored body is not gzip or unpacks to more than 256 MB', () => {
    expect(() => cutBody(Buffer.from('not gzip'), {})).toThrow();
    const part = gzipSync(Buffer.alloc(16 * 1024 * 1024));
    const endless = Buffer.concat(new Array<Buffer>(17).fill(part));
    expect(() => cutBody(endless, {})).toThrow('larger than 268435456 bytes');
  });
});

function made(recording: Recording): Promise<Stored> {
  return encode(ID, 'strava', fetchedAt, recording);
}

function read(body: Buffer): StreamAnswer {
  return JSON.parse(gunzipSync(body).toString()) as StreamAnswer;
}
