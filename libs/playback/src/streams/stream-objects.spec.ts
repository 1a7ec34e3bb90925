import { describe, expect, it } from '@jest/globals';
import { streamObjects } from './stream-objects.js';

const URL_OF = (file: string) => `https://cdn.example/${file}`;

describe('streams', () => {
  it('sorts streams by the height in their name; streams without a height come last, in the given order', () => {
    const names = ['Audio only', '360p', 'HDR 4K', 'Original', '1080p60', '720p'];
    const sorted = streamObjects(names.map((name) => ({ url: URL_OF('a.mp4'), name }))).map(
      ({ name }) => name,
    );
    expect(sorted).toEqual(['HDR 4K', '1080p60', '720p', '360p', 'Audio only', 'Original']);
  });

  it.each([
    [URL_OF('a.mp4'), undefined],
    [URL_OF('a.MP4?token=1'), undefined],
    [URL_OF('a.mkv'), true],
    ['http://cdn.example/a.mp4', true],
  ])('the stream %s has notWebReady %s', (url, notWebReady) => {
    const [stream] = streamObjects([{ url }]);
    expect(stream?.behaviorHints.notWebReady).toBe(notWebReady);
  });

  it('a stream names its file, its size and the group of streams of equal quality', () => {
    const [named, unnamed] = streamObjects([
      { url: URL_OF('x'), name: '720p', filename: 'hills.mp4', sizeBytes: 17 },
      { url: URL_OF('dir/y.mp4?z=1') },
    ]);
    expect(named).toEqual({
      url: URL_OF('x'),
      name: '720p',
      behaviorHints: {
        bingeGroup: 'pacekeeper-720p',
        filename: 'hills.mp4',
        videoSize: 17,
        notWebReady: true,
      },
    });
    expect(unnamed).toMatchObject({ name: 'Video', behaviorHints: { filename: 'y.mp4' } });
  });
});
