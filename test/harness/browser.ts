import { mkdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type AxeResults } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { eventually } from './eventually.js';

// On a machine with a load of 20, a page needs ten times as long as alone.
const DEADLINE_MS = 90_000;
const FITS_WITHIN_MS = 5_000;
const CLOSED_WITHIN_MS = 30_000;
// The pages show these answers in words. Chromium also logs them as errors.
const FAILED_REQUEST = /^Failed to load resource/;

/** Starts Debian's Chromium. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-sync',
    ],
  });
}

/** A tab with cookies of its own. It records what a person does not see. */
export class Tab {
  /** Errors of the page's scripts and violations of the content security policy. */
  readonly problems: string[] = [];
  /** The URL of each request and each address of the tab. */
  readonly urls: string[] = [];

  private constructor(readonly page: Page) {
    page.context().setDefaultTimeout(DEADLINE_MS);
    page.on('pageerror', ({ message }) => this.problems.push(`${page.url()}: ${message}`));
    page.on('console', (message) => {
      const isProblem = message.type() === 'error' && !FAILED_REQUEST.test(message.text());
      if (isProblem) this.problems.push(`${page.url()}: ${message.text()}`);
    });
    page.on('request', (request) => this.urls.push(request.url()));
    page.on('framenavigated', (frame) => this.urls.push(frame.url()));
  }

  static async open(browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    return new Tab(await context.newPage());
  }

  /** All that scripts of the page can read from this browser. */
  stored(): Promise<string> {
    return this.page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href])',
    );
  }

  /** Closes all pages of this person. Playwright waits for this without a limit, and a test that hangs does not say where. */
  async close(): Promise<void> {
    const late = pause(CLOSED_WITHIN_MS, undefined, { ref: false }).then(() => {
      throw new Error(`${this.page.url()} was not closed in ${CLOSED_WITHIN_MS} ms`);
    });
    await Promise.race([this.page.context().close(), late]);
  }
}

/** Waits until the page has its heading and no part of it loads any more. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
}

// `source` of the package is the readable script, which takes twice as long to compile.
const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');
// The other rules look at a document that is the same in both themes.
const RULES_OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/** Serious and critical findings of axe-core, each as one line: of all rules, or of those that look at colours. */
export async function axeFindings(page: Page, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  // It stays until the page is left.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  const options = {
    resultTypes: ['violations'],
    // No rule that is on by default needs the style sheets, which axe would request again each time.
    preload: false,
    // A finding has its HTML, and no page has a frame. On a table of 60 rows a run took 0.18 s at best, and 0.33 s with both.
    selectors: false,
    iframes: false,
    ...(rules === 'colours' && { runOnly: RULES_OF_COLOURS }),
  };
  const results = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(options)})`);
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`),
    );
}

/** Resizes the window and waits until the page is not wider than the window. Fails with the widest elements. */
export async function fitsInto(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 850 });
  // Null if the page fits.
  const overflow = `document.documentElement.scrollWidth <= ${width} ? null :
    [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > ${width})
      .map((element) => element.outerHTML.slice(0, 120))`;
  let found: string[] | null = null;
  const fits = async () => {
    found = await page.evaluate<string[] | null>(overflow);
    return found === null;
  };
  await eventually('the page fits', fits, FITS_WITHIN_MS).catch((cause: unknown) => {
    throw new Error(`${page.url()} is wider than ${width} px: ${found?.slice(0, 5).join('\n')}`, { cause });
  });
}

const SCREENS = 'test/screens';
// A whole page may be three times as high, and the README shows two pictures beside each other.
const PICTURE = { x: 0, y: 0, width: 1280, height: 1280 };

/** Writes the upper part of the page to `test/screens/readme`, from where a person copies it to docs/images. */
export async function pictureForReadme(page: Page, name: string): Promise<void> {
  mkdirSync(`${SCREENS}/readme`, { recursive: true });
  await page.screenshot({ path: `${SCREENS}/readme/${name}.png`, fullPage: true, clip: PICTURE });
}

/** Writes a screenshot of the whole page to `test/screens`. */
export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENS, { recursive: true });
  await page.screenshot({ path: `${SCREENS}/${name}.png`, fullPage: true });
}
