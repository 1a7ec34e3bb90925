import http from 'node:http';
import https from 'node:https';

/** Posts exactly these bytes and returns the status when the whole answer has arrived. Redirects are not followed. */
export function postBytes(
  url: string,
  body: Buffer,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? https.request : http.request;
    const request = send(
      url,
      { method: 'POST', headers: { ...headers, 'content-length': body.length }, signal },
      (response) => {
        response.on('error', reject);
        response.on('end', () => resolve(response.statusCode ?? 0));
        response.resume();
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
