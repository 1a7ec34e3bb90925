import { describe, expect, it } from '@jest/globals';
import { createAthleteProfile, createHistory, summaryJson } from '#training-world';
import { JsonPacker } from './json-packer.js';

const athlete = createAthleteProfile(3);
const history = createHistory({
  seed: 3,
  count: 300,
  endsAtMs: Date.UTC(2026, 10, 18),
  athlete,
  manualShare: 0.1,
});

describe('JsonPacker', () => {
  it('JsonPacker packs summaries to less than half of their size and unpacks them byte for byte', () => {
    const packer = new JsonPacker();
    const texts = history.map(summaryJson);
    const packed = texts.map((text) => packer.pack(text));
    expect(packer.array(packed).toString()).toBe(`[${texts.join(',')}]`);
    const held = packed.reduce((sum, { length }) => sum + length, 0);
    expect(held).toBeLessThan(texts.join('').length / 2);
  });

  it.each([
    ['nothing', []],
    ['one', ['{"a":1}']],
    ['text that looks like keys', ['{"a":",\\"b\\":true","c":"ünï ☃","d":"\\u0001"}']],
    ['more words than there are numbers', [JSON.stringify(manyKeys(300))]],
    ['long words', [`{"${'x'.repeat(100)}":true}`]],
  ])('JsonPacker packs and unpacks %s byte for byte', (_what, texts) => {
    const packer = new JsonPacker();
    expect(packer.array(texts.map((text) => packer.pack(text))).toString()).toBe(`[${texts.join(',')}]`);
  });
});

function manyKeys(count: number): Record<string, boolean> {
  const name = (index: number) => 'k'.repeat(1 + (index % 40)) + '_'.repeat(Math.floor(index / 40));
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), true]));
}
