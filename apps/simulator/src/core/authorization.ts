import { type FastifyRequest } from 'fastify';

/** Client id and secret from an HTTP Basic header; undefined without the header. RFC 6749 §2.3.1 requires support for Basic. */
export function basicCredentials(
  authorization: string | undefined,
): { client_id: string; client_secret: string } | undefined {
  const encoded = /^Basic\s+(\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [client_id = '', client_secret = ''] = Buffer.from(encoded, 'base64').toString().split(/:(.*)/s);
  return { client_id: unescaped(client_id), client_secret: unescaped(client_secret) };
}

/** RFC 6749 form-encodes the id and the secret. Some clients do not encode, so a text with a bare percent sign stays as it is. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function bearerOf(request: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}
