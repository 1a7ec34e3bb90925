import { describe, expect, it } from '@jest/globals';
import { CAUSE_ANSWERS } from '#reliability';
import { CLIPS } from './clips.js';

const CAUSES_WITH_CLIP = Object.entries(CAUSE_ANSWERS).filter(([, { kind }]) => kind === 'clip');

describe('the clips', () => {
  it('are there for the causes that are answered with one, and for no others', () => {
    expect([...CLIPS.keys()].sort()).toEqual(CAUSES_WITH_CLIP.map(([cause]) => cause).sort());
  });

  it.each(CAUSES_WITH_CLIP)(
    '%s is an MP4 that plays from its first bytes, and says what the table says',
    (cause, { message }) => {
      const bytes = CLIPS.get(cause)?.bytes ?? Buffer.alloc(0);
      expect(bytes.length).toBeLessThan(150_000);
      expect(bytes.toString('latin1', 4, 8)).toBe('ftyp');
      expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'));
      // Written into the file together with the picture: a text that has changed is one that has to be drawn anew.
      expect(bytes.includes(message)).toBe(true);
    },
  );
});
