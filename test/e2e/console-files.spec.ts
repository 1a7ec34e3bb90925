import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { errorBody } from '../harness/error-body.js';

const PAGE = '<!doctype html><title>console</title>';
const SCRIPT = `console.log('${'pace '.repeat(200)}')`;
const SECRET = 'outside of the folder';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

describe('the files of the console', () => {
  let folder: string;
  let port: number;
  const servers: ChildProcess[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'console-'));
    await writeFile(join(folder, 'secret.txt'), SECRET);
    const files = join(folder, 'console');
    await mkdir(join(files, 'assets'), { recursive: true });
    await writeFile(join(files, 'index.html'), PAGE);
    await writeFile(join(files, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
    await writeFile(join(files, '.hidden.txt'), SECRET);
    await writeFile(join(files, 'assets', 'main-a1b2c3.js'), SCRIPT);
    await writeFile(join(files, 'assets', 'main-a1b2c3.js.br'), brotliCompressSync(SCRIPT));
    await writeFile(join(files, 'assets', 'main-a1b2c3.js.gz'), gzipSync(SCRIPT));
    port = await serve(files);
  });
  afterAll(async () => {
    for (const server of servers) server.kill();
    await rm(folder, { recursive: true });
  });

  async function serve(files: string): Promise<number> {
    const server = spawn(process.execPath, ['test/harness/console-server.mjs', files], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    servers.push(server);
    const ended = once(server, 'exit').then(([code]) => Promise.reject(new Error(`it ended with ${code}`)));
    const [line] = (await Promise.race([once(server.stdout, 'data'), ended])) as [Buffer];
    return Number(line.toString());
  }

  /** Sends the path as it is; `fetch` would resolve its dots. */
  function get(
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
    at = port,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ host: '127.0.0.1', port: at, path, method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          }),
        );
      });
      sent.on('error', reject).end();
    });
  }

  it.each(['/console', '/console/', '/console/athletes/7b0c/activities', '/console/failures?error=x.y'])(
    'GET %s answers the page, which a browser asks for again each time',
    async (path) => {
      const { status, headers, body } = await get(path);
      expect([status, body.toString()]).toEqual([200, PAGE]);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        etag: expect.any(String),
      });
      const again = await get(path, { 'if-none-match': String(headers['etag']) });
      expect([again.status, again.body.length]).toEqual([304, 0]);
    },
  );

  it('the page has a policy without inline scripts, inline styles and other hosts', async () => {
    const policy = (await get('/console')).headers['content-security-policy'];
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  it.each([
    ['br, gzip', 'br', brotliCompressSync(SCRIPT)],
    ['gzip', 'gzip', gzipSync(SCRIPT)],
    ['identity', undefined, Buffer.from(SCRIPT)],
  ])(
    'an asset is sent to a client that accepts %s with content-encoding %s',
    async (accepted, coding, bytes) => {
      const { status, headers, body } = await get('/console/assets/main-a1b2c3.js', {
        'accept-encoding': accepted,
      });
      expect([status, headers['content-encoding']]).toEqual([200, coding]);
      expect(body.equals(bytes)).toBe(true);
      expect(headers).toMatchObject({
        'content-type': expect.stringContaining('javascript'),
        'cache-control': 'public, max-age=31536000, immutable',
        'content-length': String(bytes.length),
        vary: 'accept-encoding',
      });
    },
  );

  it('a console file without a hash in its name is not cached as immutable', async () => {
    const { status, headers } = await get('/console/icon.svg');
    expect([status, headers['cache-control']]).toEqual([200, 'no-cache']);
  });

  it.each(['/console', '/console/assets/main-a1b2c3.js'])(
    'HEAD %s has the headers of GET and no body',
    async (path) => {
      const [head, whole] = [await get(path, {}, 'HEAD'), await get(path)];
      expect([head.status, head.body.length]).toEqual([200, 0]);
      for (const name of ['content-length', 'content-type', 'etag'])
        expect(head.headers[name]).toEqual(whole.headers[name]);
    },
  );

  it.each([
    '/console/assets/gone-ffffff.js',
    '/console/assets/main-a1b2c3.js/x.js',
    '/console/../secret.txt',
    '/console/..%2fsecret.txt',
    '/console/%2e%2e/secret.txt',
    '/console/%2e%2e%2fsecret.txt',
    '/console/assets/../../secret.txt',
    '/console/assets/..%2f..%2fsecret.txt',
    '/console/..%5csecret.txt',
    '/console//etc/hosts.allow',
    '/console/.hidden.txt',
    '/console/assets/..',
    '/console/main%00.js',
    `/console/${'a'.repeat(300)}.js`,
  ])('GET %s is answered with 404 in the shape of an error', async (path) => {
    const { status, headers, body } = await get(path);
    expect(status).toBe(404);
    expect(JSON.parse(body.toString())).toEqual(errorBody());
    expect(body.toString()).not.toContain(SECRET);
    expect(headers['cache-control']).toBe('no-store');
  });

  it('without a build, the page is answered with 404 and a sentence', async () => {
    const at = await serve(join(folder, 'nothing'));
    const { status, body } = await get('/console', {}, 'GET', at);
    expect(status).toBe(404);
    expect(JSON.parse(body.toString())).toMatchObject({ error: expect.stringContaining('npm run build') });
  });
});
