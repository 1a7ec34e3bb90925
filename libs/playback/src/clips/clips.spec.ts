import { describe, expect, it } from '@jest/globals';
import { CAUSE_ANSWERS } from '#reliability';
import { byteRange, CLIPS } from './clips.js';

const CAUSES_WITH_CLIP = Object.entries(CAUSE_ANSWERS).filter(([, { kind }]) => kind === 'clip');

describe('the clips', () => {
  it('each cause that is answered with a clip has its clip, and there is no other clip', () => {
    expect([...CLIPS.keys()].sort()).toEqual(CAUSES_WITH_CLIP.map(([cause]) => cause).sort());
  });

  it.each(CAUSES_WITH_CLIP)(
    'the clip %s is an MP4 with the index in front, and shows the message of its cause',
    (cause, { message }) => {
      const bytes = CLIPS.get(cause)?.bytes ?? Buffer.alloc(0);
      expect(bytes.length).toBeLessThan(150_000);
      expect(bytes.toString('latin1', 4, 8)).toBe('ftyp');
      expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'));
      // make-clips.sh writes the message into the metadata. If this fails, run it again.
      expect(bytes.includes(message)).toBe(true);
    },
  );
});

const part = (first: number, last: number) => ({ kind: 'part', first, last });

describe('a Range header', () => {
  it.each([
    ['bytes=0-99', part(0, 99)],
    ['bytes=950-', part(950, 999)],
    ['bytes=950-5000', part(950, 999)],
    ['bytes=-10', part(990, 999)],
    ['bytes=-5000', part(0, 999)],
    ['bytes=1000-', { kind: 'none' }],
    ['bytes=-0', { kind: 'none' }],
    ['bytes=9-5', { kind: 'whole' }],
    ['bytes=-', { kind: 'whole' }],
    ['bytes=0-1,5-6', { kind: 'whole' }],
    ['lines=0-1', { kind: 'whole' }],
    [undefined, { kind: 'whole' }],
  ])('the Range header %s for a file of 1,000 bytes gives %j', (header, range) =>
    expect(byteRange(header, 1_000)).toEqual(range),
  );
});
