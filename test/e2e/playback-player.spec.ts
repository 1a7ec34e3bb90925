import { mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, chromium, type Page } from 'playwright-core';
import { get, PlaybackWorld, streamPath } from '../harness/playback.js';
import { type ProductProcess } from '../harness/process.js';

const SCREENSHOTS = '.cache/screenshots';

// A player's page has another origin than the api, so CORS and Cross-Origin-Resource-Policy apply to it.
const PAGE =
  '<!doctype html><style>body{margin:0;background:#000}video{width:100vw}</style><video muted></video>';

interface Played {
  readonly width: number;
  readonly height: number;
  readonly duration: number;
  readonly at: number;
}

describe('a player', () => {
  let world: PlaybackWorld;
  let api: ProductProcess;
  let browser: Browser;
  let site: Server;
  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    world = await PlaybackWorld.open();
    api = await world.startApi();
    site = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end(PAGE));
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM_PATH,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--disable-background-networking',
        '--disable-sync',
        '--autoplay-policy=no-user-gesture-required',
      ],
    });
  });
  afterAll(async () => {
    await browser?.close();
    site?.close();
    await world?.close();
  });

  /** Requests sources from the page, plays the first source and returns how far it played. */
  async function play(session: string): Promise<{ page: Page; url: string; played: Played }> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}`);
    const url = await page.evaluate(
      async (from) => {
        const { streams } = (await (await fetch(from)).json()) as { streams: Array<{ url: string }> };
        return streams[0]?.url ?? '';
      },
      `${api.url}/addon/${streamPath(session)}`,
    );
    // This code runs in the page. It is a string, because the tests have no DOM types.
    const played = await page.evaluate<Played, string>(
      `(async (url) => {
        const video = document.querySelector('video');
        video.src = url;
        await video.play();
        await new Promise((resolve, reject) => {
          video.onerror = () => reject(new Error(video.error.message));
          const check = () => video.currentTime > 0.5 ? resolve() : setTimeout(check, 20);
          check();
        });
        video.pause();
        return { width: video.videoWidth, height: video.videoHeight, duration: video.duration, at: video.currentTime };
      })(${JSON.stringify(url)})` as never,
      url,
    );
    return { page, url, played };
  }

  it('a browser plays the source that the broker resolves', async () => {
    const { page, url, played } = await play('player-1');
    expect(url).toContain('/broker/media/guided-workout-360p.mp4');
    expect(played).toMatchObject({ width: 640, height: 360 });
    expect(played.at).toBeGreaterThan(0.5);
    await page.close();
  });

  it.each([
    ['broker_error', 'http_500'],
    ['dependency_timeout', 'timeout'],
  ])('a browser plays the clip of %s when the broker fails with %s', async (cause, fault) => {
    await world.simulator.fault('broker', 'resolve', fault);
    const { page, url, played } = await play(`player-${cause}`);
    await world.simulator.clearFaults();
    expect(url).toBe(`${api.url}/addon/clips/${cause}.mp4`);
    expect(played).toMatchObject({ width: 1280, height: 720 });
    expect(played.duration).toBeCloseTo(8, 0);
    await page.screenshot({ path: `${SCREENSHOTS}/clip-${cause}.png` });
    await page.close();
  });

  it('a browser seeks in a clip by range requests', async () => {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}`);
    const statuses: number[] = [];
    page.on('response', (response) => {
      if (response.url().endsWith('.mp4')) statuses.push(response.status());
    });
    const at = await page.evaluate<number>(`(async () => {
      const video = document.querySelector('video');
      video.src = ${JSON.stringify(`${api.url}/addon/clips/redis_unavailable.mp4`)};
      await new Promise((resolve, reject) => { video.onloadedmetadata = resolve; video.onerror = reject; });
      video.currentTime = 6;
      await new Promise((resolve) => { video.onseeked = resolve; });
      return video.currentTime;
    })()`);
    expect(at).toBe(6);
    expect(statuses).toContain(206);
    expect((await get(api, 'clips/redis_unavailable.mp4', { range: 'bytes=0-' })).status).toBe(206);
    await page.close();
  });
});
