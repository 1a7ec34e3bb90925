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
  it('is read as it is, without what nobody knows', () => {
    expect(toSeries({ series: [{ ...SERIES, colour: 'red' }], next: null })).toEqual([SERIES]);
  });

  it('leaves out the odd series and the odd episode, and of a series what is only nice to have', () => {
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
  ])('%j cannot be read', (json) => expect(() => toSeries(json)).toThrow());
});

describe("a broker's sources", () => {
  it('are read with their size', () => {
    expect(toSources({ sources: [{ ...SOURCE, size_bytes: 9 }] })).toEqual([{ ...SOURCE, sizeBytes: 9 }]);
  });

  it('need nothing but a URL of the web', () => {
    const urls = [
      'https://x.example/v.mp4',
      'ftp://x.example/v.mp4',
      'file:///etc/passwd',
      '//x',
      `https://x.example/${'v'.repeat(3_000)}`,
    ];
    expect(toSources({ sources: urls.map((url) => ({ url, filename: '' })) })).toEqual([{ url: urls[0] }]);
  });

  it('may be none, and are unreadable where none of them can be read', () => {
    expect(toSources({ sources: [] })).toEqual([]);
    expect(() => toSources({ sources: [{ url: 7 }] })).toThrow();
    expect(() => toSources({ sources: 'x' })).toThrow();
  });
});
