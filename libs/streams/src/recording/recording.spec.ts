import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { recordings } from './recording.harness.js';
import { readRecording, RecordingMalformed } from './recording.js';

const time = [0, 1, 2];
const STRANGE = 'is neither a plain value nor a short list of numbers';

describe('a recording', () => {
  it('a valid recording is read exactly as the vendor sent it', () => {
    fc.assert(
      fc.property(recordings(), (sent) => {
        expect(readRecording(sent.channels)).toEqual(sent);
      }),
      { numRuns: 500 },
    );
  });

  it.each([{}, { time: [] }, { time: [], heartrate: [], gear: [] }, { heartrate: [] }])(
    'channels without a sample are not a recording: %j',
    (raw) => expect(readRecording(raw)).toBeUndefined(),
  );

  it.each<[string, Record<string, unknown>]>([
    ['time with fractions and standstill', { time: [0.5, 0.5, 1e9] }],
    ['positions at the edge of the world', { time, latlng: [[-90, 180], null, [90, -180]] }],
    ['numbers at the edge', { time, watts: [-1e9, 1e9, null] }],
    ['a channel without any value', { time, heartrate: [null, null, null] }],
    ['unknown channels', { time, gear: ['39x17', '', null], rr: [[1, null], [], [1e300]] }],
    ['a long text', { time: [0], lap: ['x'.repeat(200)] }],
    ['a long name', { time: [0], ['x'.repeat(64)]: [true] }],
    ['a channel named like a property of every object', { time, constructor: [1, 2, 3] }],
  ])('a recording may have %s', (_, raw) => expect(readRecording(raw)!.channels).toEqual(raw));

  it.each<[string, Record<string, unknown>]>([
    ['time is missing', { heartrate: [1] }],
    ['time: is not a list of samples', { time: null }],
    ['heartrate: is not a list of samples', { time, heartrate: { data: [1, 2, 3] } }],
    ['heartrate: is not a list of samples', { time: [], heartrate: '' }],
    ['heartrate: 3,598 values, time has 3,600', { time: zeros(3_600), heartrate: zeros(3_598) }],
    ['heartrate: 1 values, time has 0', { time: [], heartrate: [1] }],
    ['gear: 0 values, time has 3', { time, gear: [] }],
    ['time: sample 2 is not a number', { time: [0, null, 1] }],
    ['time: sample 1 is out of range', { time: [-1, 0, 1] }],
    ['time: goes backwards at sample 3', { time: [0, 2, 1] }],
    ['time: goes backwards at sample 1,001', { time: [...zeros(1_000).map(() => 1), 0] }],
    ['watts: sample 2 is not a number', { time, watts: [1, '250', 3] }],
    ['watts: sample 3 is not a number', { time, watts: [1, 2, true] }],
    ['watts: sample 1 is not a number', { time, watts: [[1], 2, 3] }],
    ['watts: sample 1 is not a number', { time, watts: [NaN, 2, 3] }],
    ['watts: sample 1 is not a number', { time, watts: [undefined, 2, 3] }],
    // JSON.parse returns Infinity for 1e999.
    ['watts: sample 1 is out of range', { time, watts: JSON.parse('[1e999,2,3]') }],
    ['altitude: sample 1 is out of range', { time, altitude: [-1_000_000_001, 2, 3] }],
    ['latlng: sample 1 is not a pair of coordinates', { time, latlng: [[1], [1, 2], [1, 2]] }],
    [
      'latlng: sample 1 is not a pair of coordinates',
      {
        time,
        latlng: [
          [1, 2, 3],
          [1, 2],
          [1, 2],
        ],
      },
    ],
    [
      'latlng: sample 2 is not a pair of coordinates',
      {
        time,
        latlng: [
          [1, 2],
          [1, null],
          [1, 2],
        ],
      },
    ],
    [
      'latlng: sample 2 is not a pair of coordinates',
      {
        time,
        latlng: [
          [1, 2],
          [90.1, 2],
          [1, 2],
        ],
      },
    ],
    [
      'latlng: sample 2 is not a pair of coordinates',
      {
        time,
        latlng: [
          [1, 2],
          [1, -180.1],
          [1, 2],
        ],
      },
    ],
    ['latlng: sample 3 is not a pair of coordinates', { time, latlng: [null, [1, 2], '1,2'] }],
    ['moving: sample 2 is neither true nor false', { time, moving: [true, null, false] }],
    ['moving: sample 1 is neither true nor false', { time, moving: [1, true, false] }],
    [`gear: sample 1 ${STRANGE}`, { time, gear: [[[1]], 1, 1] }],
    [`gear: sample 1 ${STRANGE}`, { time, gear: [{}, 1, 1] }],
    [`gear: sample 1 ${STRANGE}`, { time, gear: [['a'], 1, 1] }],
    [`gear: sample 1 ${STRANGE}`, { time, gear: [zeros(9), 1, 1] }],
    [`gear: sample 1 ${STRANGE}`, { time, gear: ['x'.repeat(201), 1, 1] }],
    [`gear: sample 1 ${STRANGE}`, { time, gear: [Infinity, 1, 1] }],
    [`gear: sample 1 ${STRANGE}`, { time, gear: [[-Infinity], 1, 1] }],
    [`gear: sample 1 ${STRANGE}`, { time, gear: ['a\0', 1, 1] }],
    [`gear: sample 1 ${STRANGE}`, { time, gear: ['\ud83d', 1, 1] }],
    ['channel 2 has an invalid name', { time, Watts: [1, 2, 3] }],
    ['channel 2 has an invalid name', { time, '': [1, 2, 3] }],
    ['channel 2 has an invalid name', { time, ['x'.repeat(65)]: [1, 2, 3] }],
    ['channel 2 has an invalid name', { time, "a'; drop table activity": [1, 2, 3] }],
    ['channel 1 has an invalid name', { ['__proto__']: [1, 2, 3], time }],
    ['65 channels, more than 64', Object.fromEntries(zeros(65).map((_, at) => [`c${at}`, [1]]))],
    ['time: 500,001 values, more than 500,000', { time: zeros(500_001) }],
  ])('a malformed recording is rejected: %s', (message, raw) => {
    expect(() => readRecording(raw)).toThrow(new RecordingMalformed(message));
  });

  it('a recording may have 500,000 samples and 64 channels', () => {
    const many = zeros(500_000);
    expect(readRecording({ time: many, heartrate: many })!.pointCount).toBe(500_000);
    const names = zeros(63).map((_, at) => [`c${at}`, [1]]);
    expect(Object.keys(readRecording({ time: [0], ...Object.fromEntries(names) })!.channels)).toHaveLength(
      64,
    );
  });

  it('any JSON object is read or rejected as malformed, never with another error', () => {
    const raw = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('time', 'latlng')), fc.jsonValue());
    fc.assert(
      fc.property(raw, (sent) => {
        try {
          readRecording(sent);
        } catch (error) {
          expect(error).toBeInstanceOf(RecordingMalformed);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(['time', 'latlng', 'watts', 'moving', 'gear', 'S3cret'])(
    'the error of a malformed recording does not quote its samples: %s',
    (name) => {
      const read = () => readRecording({ time, [name]: [{ s3cret: 's3cret' }, ['s3cret'], 's3cret'] });
      expect(read).toThrow(RecordingMalformed);
      expect(read).not.toThrow(/s3cret/i);
    },
  );
});

function zeros(length: number): number[] {
  return new Array<number>(length).fill(0);
}
