import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';

export const ACCEPTED_ENCODINGS = 'gzip, br, deflate';

/** The body does not match its content-encoding. */
class Undecodable extends Error {
  override readonly name = 'Undecodable';
}

/** The decoded body exceeds the limit. Decoding stops at the limit, so a small compressed body cannot fill the memory. */
export class DecodedTooLarge extends Error {
  override readonly name = 'DecodedTooLarge';
}

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: (body, options) => (isZlib(body) ? promisify(inflate) : promisify(inflateRaw))(body, options),
};

export async function decodeBody(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity' || body.length === 0) return body;
  const decode = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  if (!decode) throw new Undecodable('an encoding that the request does not accept');
  try {
    return await decode(body, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new DecodedTooLarge(undefined, { cause });
    throw new Undecodable(`not ${name}`, { cause });
  }
}

/** True if the body begins with a zlib header. Some servers send `deflate` without that header. */
function isZlib(body: Buffer): boolean {
  return ((body[0] ?? 0) & 0x0f) === 8 && body.length > 1 && body.readUInt16BE(0) % 31 === 0;
}
