import { Transform } from 'node:stream';

const LONGEST_SILENCE_MS = 30_000;

/** This error is only for the log. The reader sees an archive that ends without a manifest. */
export class ReaderStalled extends Error {
  override readonly name = 'ReaderStalled';
}

/** Passes bytes on. If the reader takes no bytes for `longestMs`, the stream is destroyed with ReaderStalled. */
export function cutOffWhenStalled(longestMs = LONGEST_SILENCE_MS): Transform {
  const stream = new Transform({
    // Node calls `transform` only after the reader has taken the earlier bytes. Only a buffer of 16 kB (64 kB from Node 22 on) may be ahead
    // of the reader.
    transform(bytes, _encoding, done) {
      timer.refresh();
      done(null, bytes);
    },
  });
  const timer = setTimeout(
    () => stream.destroy(new ReaderStalled(`the reader took nothing for ${longestMs / 1_000} s`)),
    longestMs,
  );
  // The timer must not keep the process alive.
  timer.unref();
  stream.once('close', () => clearTimeout(timer));
  return stream;
}
