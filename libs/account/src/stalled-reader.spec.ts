import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { describe, expect, it } from '@jest/globals';
import { cutOffWhenStalled, ReaderStalled } from './stalled-reader.js';

const BYTES = Buffer.alloc(8 * 1024);
const endless = () =>
  Readable.from(
    (function* () {
      for (;;) yield BYTES;
    })(),
  );

describe('a reader of an archive', () => {
  it.each(['never takes a byte', 'stops in the middle'])(
    'cutOffWhenStalled destroys the stream of a reader that %s',
    async (how) => {
      const stream = cutOffWhenStalled(50);
      const piped = pipeline(endless(), stream);
      const outcome = finished(stream);
      if (how === 'stops in the middle') {
        await once(stream, 'readable');
        stream.read();
      }
      await expect(outcome).rejects.toThrow(ReaderStalled);
      await expect(piped).rejects.toThrow(ReaderStalled);
    },
  );

  it('cutOffWhenStalled passes all bytes to a slow reader if each pause of the reader is short enough', async () => {
    let taken = 0;
    const source = Readable.from(
      (function* () {
        for (let count = 0; count < 30; count += 1) yield BYTES;
      })(),
    );
    const slow = new Writable({
      highWaterMark: 1,
      write(bytes: Buffer, _encoding, done) {
        taken += bytes.length;
        setTimeout(done, 80);
      },
    });
    const startedAt = performance.now();
    await pipeline(source, cutOffWhenStalled(2_000), slow);
    expect(taken).toBe(30 * BYTES.length);
    expect(performance.now() - startedAt).toBeGreaterThan(2_000);
  });
});
