import Sequencer from '@jest/test-sequencer';

// In seconds, roughly. Jest starts the longest first once it has seen them; on a fresh checkout it knows sizes only, and a long
// file that comes last is waited for alone.
const LONG = new Map([
  ['sleep-history', 90],
  ['coalescer', 70],
  ['playback-causes', 60],
  ['import-crashes', 60],
  ['sleep', 55],
  ['imports', 45],
  ['renewal', 40],
  ['normaliser', 40],
  ['stream-crashes', 35],
  ['stream-backfill', 35],
  ['write-back', 30],
  ['process', 30],
  ['launcher', 30],
  ['stream-readers', 25],
  ['runtime-failures', 25],
  ['sleep-restarts', 20],
  ['sleep-soak', 20],
  ['dependencies', 20],
  ['stream-faults', 20],
  ['restart', 20],
  ['oura-subscriptions', 20],
  ['runtime', 20],
  ['streams', 15],
  ['connections', 15],
  ['sleep-native', 15],
  ['run-shape-accuracy', 15],
  ['jobs-model', 15],
]);

const secondsOf = ({ path }) => LONG.get(path.split('/').at(-1).split('.')[0]) ?? 0;

export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    return sorted.sort((one, other) => secondsOf(other) - secondsOf(one));
  }
}
