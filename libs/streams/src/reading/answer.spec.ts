import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { encode, narrow, type Stored, type StreamAnswer } from './answer.js';
import { downsample } from '../recording/downsample.js';
import { recordings } from '../recording/recording.harness.js';
import { readRecording, type Recording } from '../recording/recording.js';

const ID = '5a1fd1a4-6f0e-4a3a-8f66-7b9f4c3e2d10';
const fetchedAt = new Date('2026-11-18T09:00:00.123Z');

describe('the stored answer', () => {
  it('reads as what went in, whatever channels, gaps and sizes', async () => {
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

  it('reads as what went in where a whole day was recorded', async () => {
    const time = Array.from({ length: 86_400 }, (_, second) => second);
    const watts = time.map((second) => (second % 9 === 0 ? null : (second * 7_919) % 1_009));
    const latlng = time.map((second) => [second / 1_009, -second / 919]);
    const { body } = await made({ channels: { time, watts, latlng }, pointCount: time.length });
    // As text: jest takes seconds to compare so many numbers.
    expect(JSON.stringify(read(body).stream_data)).toBe(JSON.stringify({ time, watts, latlng }));
  });

  it('is what the contract says, in its order', async () => {
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

  it('has the same bytes and the same tag each time, and others for anything else', async () => {
    const recording = { channels: { time: [0, 1] }, pointCount: 2 };
    const stored = await made(recording);
    expect(await made(recording)).toEqual(stored);
    expect(stored.etag).toMatch(/^[\w-]{43}$/);
    // No time of compression in its header.
    expect(stored.body.readUInt32LE(4)).toBe(0);
    const others = [
      await made({ channels: { time: [0, 2] }, pointCount: 2 }),
      await encode(ID, 'strava', new Date(0), recording),
      await encode(ID.replace('5', '6'), 'strava', fetchedAt, recording),
    ];
    expect(new Set([stored, ...others].map(({ etag }) => etag)).size).toBe(4);
  });
});

describe('the narrowed answer', () => {
  const choices = fc.record(
    {
      channels: fc.subarray(['time', 'latlng', 'watts', 'gear', 'constructor', 'nobody_has_this']),
      points: fc.integer({ min: 2, max: 80 }),
    },
    { requiredKeys: [] },
  );

  it('differs from the whole in its channels and points only', async () => {
    await fc.assert(
      fc.asyncProperty(recordings(), choices, async (recording, wanted) => {
        const { body } = await made(recording);
        const asked = Object.entries(recording.channels).filter(
          ([name]) => !wanted.channels || wanted.channels.includes(name),
        );
        const kept = { ...recording, channels: Object.fromEntries(asked) };
        const expected = wanted.points === undefined ? kept : downsample(kept, wanted.points);
        const text = gunzipSync(await narrow(body, wanted)).toString();
        expect(text).toBe(JSON.stringify({ ...read(body), stream_data: expected.channels }));
      }),
      { numRuns: 300 },
    );
  });

  it('leaves out what is not there, also what every object has', async () => {
    const { body } = await made({ channels: { time: [0] }, pointCount: 1 });
    const answer = read(await narrow(body, { channels: ['constructor', 'watts', '__proto__'] }));
    expect(answer).toMatchObject({ stream_data: {}, channels_available: ['time'], point_count: 1 });
  });

  it('is not made of a body that is none, or has no end', async () => {
    await expect(narrow(Buffer.from('not gzip'), {})).rejects.toThrow();
    const part = gzipSync(Buffer.alloc(16 * 1024 * 1024));
    const endless = Buffer.concat(new Array<Buffer>(17).fill(part));
    await expect(narrow(endless, {})).rejects.toThrow('larger than 268435456 bytes');
  });
});

function made(recording: Recording): Promise<Stored> {
  return encode(ID, 'strava', fetchedAt, recording);
}

function read(body: Buffer): StreamAnswer {
  return JSON.parse(gunzipSync(body).toString()) as StreamAnswer;
}
