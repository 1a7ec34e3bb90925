import { type FetchImplementation } from 'jose';

// A key set has a few KB.
const MOST_BYTES = 256 * 1024;

/** jose bounds how long it waits for an issuer's keys, the body included, but not how much it reads in that time. */
export const fetchKeys: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options);
  if (response.status !== 200 || !response.body) return response;
  return new Response(response.body.pipeThrough(atMost(MOST_BYTES)));
};

function atMost(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let read = 0;
  return new TransformStream({
    transform(chunk, controller) {
      read += chunk.byteLength;
      if (read > bytes) throw new RangeError(`More than ${bytes} bytes of keys`);
      controller.enqueue(chunk);
    },
  });
}
