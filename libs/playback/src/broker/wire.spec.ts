import { describe, expect, it } from '@jest/globals';
import { toSeries, toSources } from './wire.js';

const EPISODE = { id: 'e1', title: 'One', season: 1, episode: 1 };
const SERIES = {
  id: 's1',
  name: 'Hills',
  description: 'Up',
  poster: 'https://x.example/p.svg',
  episodes: [EPISODE],
};
const SOURCE = { url: 'https://x.example/v.mp4', name: '720p', description: 'd', filename: 'v.mp4' };

describe("a broker's catalogue", () => {
  it('reads a catalogue without its unknown fields', () => {
    expect(toSeries({ series: [{ ...SERIES, colour: 'red' }], next: null })).toEqual([SERIES]);
  });

  it('leaves out malformed series, episodes and optional fields of a catalogue', () => {
    const series = [
      { ...SERIES, id: '' },
      null,
      {
        ...SERIES,
        poster: 'javascript:alert(1)',
        description: 7,
        episodes: [EPISODE, { ...EPISODE, season: 'one' }],
      },
    ];
    expect(toSeries({ series })).toEqual([{ ...SERIES, poster: undefined, description: undefined }]);
  });

  it.each([
    [null],
    [[]],
    [{}],
    [{ series: {} }],
    [{ series: [{}] }],
    [{ series: new Array(3_000).fill(SERIES) }],
  ])('rejects a malformed catalogue: %j', (json) => expect(() => toSeries(json)).toThrow());
});

describe("a broker's sources", () => {
  it('reads a source with its size', () => {
    expect(toSources({ sources: [{ ...SOURCE, size_bytes: 9 }] })).toEqual([{ ...SOURCE, sizeBytes: 9 }]);
  });

  it('reads only sources with an http or https URL of at most 2,048 characters', () => {
    const urls = [
      'https://x.example/v.mp4',
      'ftp://x.example/v.mp4',
      'file:///etc/passwd',
      '//x',
      `https://x.example/${'v'.repeat(3_000)}`,
    ];
    expect(toSources({ sources: urls.map((url) => ({ url, filename: '' })) })).toEqual([{ url: urls[0] }]);
  });

  it('accepts an empty list of sources, and rejects a list in which every source is malformed', () => {
    expect(toSources({ sources: [] })).toEqual([]);
    expect(() => toSources({ sources: [{ url: 7 }] })).toThrow();
    expect(() => toSources({ sources: 'x' })).toThrow();
  });
});
