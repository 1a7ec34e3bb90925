import { describe, expect, it } from '@jest/globals';
import { InHand } from './in-hand.js';

describe('what is in hand', () => {
  it('is what has been added and not removed, in whatever order they leave', () => {
    const inHand = new InHand<{ name: string }>();
    const [ann, bob, cem, dee] = [
      { name: 'ann' },
      { name: 'bob' },
      { name: 'cem' },
      { name: 'dee' },
    ] as const;
    for (const each of [ann, bob, cem, dee]) inHand.add(each, 0);
    for (const each of [ann, cem, cem]) inHand.remove(each);
    inHand.add(ann, 0);
    inHand.remove(dee);
    const names = inHand.late(0).map(({ name }) => name);
    expect(names.sort()).toEqual(['ann', 'bob']);
  });

  it('is late when its time is over, as it was said first', () => {
    const inHand = new InHand();
    const early = {};
    inHand.add(early, 200);
    inHand.add({}, 250);
    inHand.add(early, 290);
    expect(inHand.late(199)).toEqual([]);
    expect(inHand.late(200)).toEqual([early]);
  });
});
