import { describe, expect, it } from '@jest/globals';
import { DeadlineSet } from './deadline-set.js';

describe('DeadlineSet', () => {
  it('DeadlineSet contains what was added and not removed, in any order of removal', () => {
    const inHand = new DeadlineSet<{ name: string }>();
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

  it('DeadlineSet returns an object as late after its first deadline, also if it is added again', () => {
    const inHand = new DeadlineSet();
    const early = {};
    inHand.add(early, 200);
    inHand.add({}, 250);
    inHand.add(early, 290);
    expect(inHand.late(199)).toEqual([]);
    expect(inHand.late(200)).toEqual([early]);
  });
});
