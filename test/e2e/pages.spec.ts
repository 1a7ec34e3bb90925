import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { ProductProcess } from '../harness/process.js';

const SCREENSHOTS = '.cache/screenshots';

describe('in a browser', () => {
  let environment: TestEnvironment;
  let api: ProductProcess;
  let browser: Browser;
  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    environment = await testEnvironment();
    api = await ProductProcess.start('api', environment.env);
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM_PATH,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--disable-background-networking',
        '--disable-sync',
      ],
    });
  });
  afterAll(async () => {
    await browser.close();
    await api.stop();
    await environment.release();
  });

  it.each([
    ['wide', 1280],
    ['narrow', 390],
  ])('the API documentation shows every operation without an error (%s)', async (name, width) => {
    const page = await browser.newPage({ viewport: { width, height: 800 } });
    const problems: string[] = [];
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(`${api.url}/docs`);
    const operation = page.locator('.opblock').filter({ hasText: '/v1/me' });
    await operation.click();
    await operation.getByText('token_expires_at').first().waitFor();
    await page.screenshot({ path: `${SCREENSHOTS}/docs-${name}.png` });
    expect(problems).toEqual([]);
    await page.close();
  });
});
