import Sequencer from '@jest/test-sequencer';

// In seconds, roughly. Jest starts the longest first once it has seen them; on a fresh checkout it knows sizes only, and a long
// file that comes last is waited for alone.
const LONG = new Map([
  ['import-crashes', 60],
  ['imports', 40],
  ['sleep', 40],
  ['renewal', 40],
  ['normaliser', 35],
  ['stream-crashes', 35],
  ['stream-backfill', 35],
  ['launcher', 35],
  ['sleep-soak', 30],
  ['dependencies', 30],
  ['stream-readers', 25],
  ['process', 20],
  ['stream-faults', 20],
  ['jobs-model', 20],
  ['restart', 15],
  ['rotate-keys', 15],
  ['run-shape-accuracy', 15],
]);

const secondsOf = ({ path }) => LONG.get(path.split('/').at(-1).split('.')[0]) ?? 0;

export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    return sorted.sort((one, other) => secondsOf(other) - secondsOf(one));
  }
}
