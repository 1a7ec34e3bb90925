import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser } from 'playwright-core';
import { startBrowser } from '../harness/browser.js';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { ProductProcess } from '../harness/process.js';

const SCREENSHOTS = '.cache/screenshots';

describe('/docs in a browser', () => {
  let environment: TestEnvironment;
  let api: ProductProcess;
  let browser: Browser;
  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    environment = await testEnvironment();
    api = await ProductProcess.start('api', environment.env);
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
    await environment?.release();
  });

  it.each([
    ['wide', 1280, 'light'],
    ['narrow', 390, 'light'],
    ['wide', 1280, 'dark'],
    ['narrow', 390, 'dark'],
  ] as const)(
    'the API documentation shows every operation, the tags in order, no logo and no error (%s, %i, %s)',
    async (name, width, colorScheme) => {
      const isMobile = width < 600;
      const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme, isMobile });
      const problems: string[] = [];
      page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
      page.on('pageerror', (error) => problems.push(error.message));
      await page.goto(`${api.url}/docs`);
      const operation = page.locator('.opblock').filter({ hasText: '/v1/me' });
      await operation.click();
      await operation.getByText('token_expires_at').first().waitFor();
      await page.screenshot({ path: `${SCREENSHOTS}/docs-${name}-${colorScheme}.png` });
      expect(problems).toEqual([]);
      expect(await page.title()).toBe('Pacekeeper API');
      expect(await page.locator('.topbar').isVisible()).toBe(false);
      await page.getByText('npm run token').first().waitFor();
      const tags = await page.evaluate<string[]>(
        "[...document.querySelectorAll('.opblock-tag')].map(({ id }) => id)",
      );
      expect(tags[0]).toBe('operations-tag-connections');
      expect(tags.at(-1)).toBe('operations-tag-vendor_webhooks');
      // The content is exactly as wide as the screen, even on a phone.
      const [content, screen] = await page.evaluate<[number, number]>(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      );
      expect(content).toBe(screen);
      expect(screen).toBeLessThan(width + 10);
      await page.close();
    },
  );
});
