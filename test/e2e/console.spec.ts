import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Browser, type Locator, type Page, type Request } from 'playwright-core';
import {
  axeFindings,
  fitsInto,
  pictureForReadme,
  screenshot,
  settled,
  startBrowser,
  Tab,
} from '../harness/browser.js';
import { type DrawnChart, drawnCharts } from '../harness/drawn-charts.js';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';
import { get, streamPath } from '../harness/playback.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';
import { Receiver } from '../harness/webhook-receiver.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const ACTIVITIES = 24;
const NIGHTS = { oura: 60, whoop: 12 };
const CHARTS = ['velocity_smooth', 'heartrate', 'altitude', 'cadence', 'watts'];
// The last one is the look of the other tests. It differs from the one before by its colours only.
const LOOKS = [
  [390, 'dark', 'all'],
  [1280, 'dark', 'all'],
  [1280, 'light', 'colours'],
] as const;
// In the light theme at 1280 px, the last look.
const PICTURES: Readonly<Record<string, string>> = {
  'operator-with-overview': 'console-overview',
  'operator-athletes-id': 'console-athlete',
  'operator-athletes-id-activity': 'console-activity',
  'athlete-sleep': 'console-sleep',
};
// As the charts' headroom of 6 % below and above the extremes places them.
const TOP = 0.06 / 1.12;
const MOST_SCRIPT_BYTES = 180_000;
const STEPS_IN_45_S = 6;
const ATHLETES_IN_LIST = 1_000;
const MOST_ROWS = 100;

interface Overview {
  readonly activities: number;
  readonly import: { readonly activities_imported: number; readonly activities_total: number };
  readonly backfill: Readonly<
    Record<'success' | 'unavailable' | 'failed' | 'deferred' | 'fetching' | 'pending', number>
  >;
}

// The tests are one story of one operator, in this order.
describe('the console in a browser', () => {
  // The world has a database of its own, so these names may be short. They are in the pictures of the README.
  const operatorName = 'operator';
  const runner = 'anna';
  let nats: NatsServer;
  let world: World;
  let browser: Browser;
  let operator: Tab;
  let athleteId: string;
  let operatorToken: string;
  let runnerToken: string;

  beforeAll(async () => {
    nats = await NatsServer.start();
    const env = { NATS_URL: nats.url, WEBHOOKS_ALLOW_PRIVATE: '1' };
    [world, browser] = await Promise.all([World.start({ env }), startBrowser()]);
    operatorToken = await tokenFor(operatorName, { role: 'admin' });
    runnerToken = await tokenFor(runner);
    const me = await world.call<{ athlete_id: string }>(runner, 'GET', '/v1/me');
    athleteId = me.body.athlete_id;
    operator = await Tab.open(browser);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.stop();
    await nats?.stop();
  });

  const at = (path: string) => `${world.api.url}/console${path}`;
  const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
  const button = (within: Page | Locator, name: string) => within.getByRole('button', { name, exact: true });
  const pagesIn = (page: Page) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
  const isLive = (page: Page) => page.getByRole('status').getByText('Live', { exact: true }).waitFor();

  async function newCode(token: string): Promise<string> {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${world.api.url}/v1/session/codes`, { method: 'POST', headers });
    return ((await answer.json()) as { code: string }).code;
  }

  async function signInByToken(page: Page, token: string): Promise<void> {
    await page.getByLabel('Token').fill(token);
    await button(page, 'Sign in').click();
  }

  const overviewOf = async () => (await world.admin<Overview>('GET', `athletes/${athleteId}`)).body;

  /** The bar of the athlete's streams, when it shows these counts. */
  function streamsBar(page: Page, counts: Readonly<Record<string, number>>): Locator {
    const parts = Object.entries(counts).map(([state, amount]) => `${state} ${amount}`);
    return card(page, 'Backfill').getByRole('img', { name: new RegExp(parts.join('.*')) });
  }

  it('the code of a link signs an operator in once, and leaves the address bar', async () => {
    const code = await newCode(operatorToken);
    const { page } = operator;
    await page.goto(at(`/athletes?q=nobody#code=${code}`));
    await page.getByRole('heading', { name: 'Athletes', level: 1 }).waitFor();
    expect(page.url()).toBe(at('/athletes?q=nobody'));
    expect(await operator.stored()).not.toContain(code);

    const other = await Tab.open(browser);
    await other.page.goto(at(`/#code=${code}`));
    await other.page.getByRole('alert').waitFor();
    expect(await pagesIn(other.page).count()).toBe(0);
    expect(other.problems).toEqual([]);
    await other.close();
  });

  it('the first view loads less than 180 kB of scripts under a strict policy, and opens one event stream', async () => {
    const tab = await Tab.open(browser);
    const { page } = tab;
    await page.goto(at(`/#code=${await newCode(operatorToken)}`));
    await isLive(page);
    const answer = await page.goto(at('/overview'));
    const policy = (await answer?.headerValue('content-security-policy')) ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toContain('unsafe');
    await isLive(page);
    await settled(page);
    const scripts = await page.evaluate<string[]>(
      "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))",
    );
    const bytesOf = (url: string) => statSync(`dist${new URL(url).pathname}.gz`).size;
    const bytes = scripts.reduce((sum, url) => sum + bytesOf(url), 0);
    expect(scripts.length).toBeGreaterThan(1);
    expect(bytes).toBeLessThanOrEqual(MOST_SCRIPT_BYTES);
    // One for each of the two documents.
    expect(tab.urls.filter((url) => url.endsWith('/events'))).toHaveLength(2);
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it('a token signs an athlete in and is in no URL and no storage, and a wrong token is refused', async () => {
    const tab = await Tab.open(browser);
    const { page } = tab;
    await page.goto(at('/sleep'));
    await signInByToken(page, `${runnerToken.slice(0, -4)}AAAA`);
    await page.getByRole('alert').waitFor();
    await signInByToken(page, runnerToken);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    expect(page.url()).toBe(at('/sleep'));
    expect(await tab.stored()).not.toContain(runnerToken);
    await page.reload();
    await isLive(page);
    expect(tab.urls.filter((url) => url.includes(runnerToken))).toEqual([]);
    expect(await tab.stored()).not.toContain(runnerToken);
    await tab.close();
    expect(tab.problems).toEqual([]);
  });

  it('an athlete finds no page of operators, and after signing out no page at all', async () => {
    const tab = await Tab.open(browser);
    const { page } = tab;
    await page.goto(at(`/#code=${await newCode(runnerToken)}`));
    await pagesIn(page).first().waitFor();
    const own = await pagesIn(page).allInnerTexts();
    expect(own).toEqual(['Activities', 'Sleep', 'Connections', 'Account']);
    for (const path of ['/overview', `/athletes/${athleteId}`]) {
      await page.goto(at(path));
      await page.getByText('There is no such page').waitFor();
    }
    await page.goto(at(`/activities/${randomUUID()}`));
    await page.getByRole('heading', { name: 'No such activity' }).waitFor();
    await button(page, 'Sign out').click();
    await page.getByLabel('Token').waitFor();
    await page.goto(at('/activities'));
    await page.getByLabel('Token').waitFor();
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it('a session that ends shows the sign-in page, which leads back to the page of before', async () => {
    const tab = await Tab.open(browser);
    const { page } = tab;
    await page.goto(at(`/activities#code=${await newCode(runnerToken)}`));
    await isLive(page);
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Sleep', exact: true }).click();
    await signInByToken(page, runnerToken);
    await page.getByRole('heading', { name: 'Sleep', level: 1 }).waitFor();
    expect(page.url()).toBe(at('/sleep'));
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it('a page that reads nothing shows the sign-in page, too, when its session is ended elsewhere', async () => {
    const name = `leaver-${randomUUID()}`;
    const tab = await Tab.open(browser);
    await tab.page.goto(at(`/account#code=${await newCode(await tokenFor(name, { role: 'admin' }))}`));
    await isLive(tab.page);
    await world.rows('update session set expires_at = now() where account = $1', [name]);
    await tab.page.getByLabel('Token').waitFor();
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it('a sign-in link that was used opens its page in the session that the browser has', async () => {
    const tab = await Tab.open(browser);
    const { page } = tab;
    const code = await newCode(runnerToken);
    for (const path of ['/activities', '/sleep']) {
      await page.goto(at(`${path}#code=${code}`));
      await pagesIn(page).first().waitFor();
      expect(page.url()).toBe(at(path));
    }
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it('a tab loads again when another tab signs in as another person, and when that person signs out', async () => {
    const tab = await Tab.open(browser);
    const { page } = tab;
    await page.goto(at(`/#code=${await newCode(operatorToken)}`));
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    const second = await page.context().newPage();
    await second.goto(at(`/#code=${await newCode(runnerToken)}`));
    await page.getByText('There is no such page').waitFor();
    expect(await pagesIn(page).allInnerTexts()).not.toContain('Overview');
    await button(second, 'Sign out').click();
    for (const each of [page, second]) await each.getByLabel('Token').waitFor();
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it('an operator watches an import and a backfill finish without a reload, with the numbers of the API', async () => {
    const { page } = operator;
    await page.goto(at('/overview'));
    await button(page, 'Pause all backfills').focus();
    await page.keyboard.press('Enter');
    await button(page, 'Resume all backfills').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Resume all backfills');
    await page.goto(at(`/athletes/${athleteId}`));
    await card(page, 'Imports').getByText('Nothing was imported yet').waitFor();
    await isLive(page);
    await page.evaluate('window.isSameDocument = true');

    await world.connect(runner, await world.vendorAthlete(ACTIVITIES, { manual_share: 0 }));
    await card(page, 'Imports').getByText(`${ACTIVITIES} of ${ACTIVITIES}`).waitFor();
    await card(page, 'Imports').getByText('completed', { exact: true }).waitFor();
    await streamsBar(page, { success: 0, pending: ACTIVITIES }).waitFor();
    const unlucky = await world.rows<{ id: string }>(
      'select external_activity_id as id from activity order by start_time limit 2',
    );
    const fault = { vendor: 'strava', endpoint: 'streams', kind: 'http_500' };
    for (const { id } of unlucky) await world.control('POST', 'faults', { ...fault, resource: id });
    await button(page, 'Resume all backfills').click();
    const stuck = `select 1 from activity where stream_fetch_status = 'failed' and stream_fetch_retry_count = 3`;
    await eventually('all attempts are used', async () => (await world.rows(stuck)).length === 2, 90_000);
    await streamsBar(page, { success: ACTIVITIES - 2, failed: 2 }).waitFor();

    const { activities, import: run, backfill } = await overviewOf();
    expect({ activities, ...run }).toMatchObject({
      activities: ACTIVITIES,
      activities_imported: ACTIVITIES,
      activities_total: ACTIVITIES,
    });
    const { success, unavailable, failed, deferred, fetching, pending } = backfill;
    await streamsBar(page, { success, unavailable, failed, deferred, fetching, pending }).waitFor();
    await card(page, 'Account').getByText(String(activities), { exact: true }).waitFor();
    expect(await page.evaluate('window.isSameDocument')).toBe(true);
  });

  it('failed streams are reset, one from its activity and the rest by their reason, and are fetched', async () => {
    const { page } = operator;
    await page.getByRole('link', { name: 'Failures', exact: true }).click();
    const reason = card(page, 'Strava is out of order: status 500');
    await reason.getByText('attempts used up').nth(1).waitFor();
    for (const path of ['/overview', '/failures'])
      expect(await look(page, path, 'operator-with')).toEqual([]);
    await world.control('DELETE', 'faults');
    await reason.getByRole('listitem').getByRole('link').first().click();
    await button(page, 'Reset stream fetch').click();
    await page.getByRole('slider').waitFor();
    await page.goBack();
    await button(page, 'Reset 1').click();
    await page.getByText('No fetch has failed').waitFor();
    const fetched = `select 1 from activity where stream_fetch_status = 'success'`;
    await eventually('all are fetched', async () => (await world.rows(fetched)).length === ACTIVITIES);
    expect((await overviewOf()).backfill).toMatchObject({ success: ACTIVITIES, failed: 0 });
  });

  it('the lines of three activities’ charts reach from the lowest to the highest value of the API, and the table names the peak', async () => {
    const { page } = operator;
    const activities = await world.rows<{ id: string }>(
      'select id from activity where average_heartrate is not null order by start_time limit 3',
    );
    for (const { id } of activities) {
      await page.goto(at(`/athletes/${athleteId}/activities/${id}`));
      await page.getByRole('slider').waitFor();
      const streams = (await world.streams(runner, id)).body.stream_data ?? {};
      const recorded = CHARTS.filter((channel) => streams[channel]?.some((value) => value !== null));
      const drawn = await eventually('all charts are drawn', async () => {
        const found = await drawnCharts(page);
        return Object.keys(found).length === recorded.length ? found : undefined;
      });
      expect(Object.keys(drawn)).toEqual(recorded);
      for (const [channel, chart] of Object.entries(drawn)) {
        const values = numbersOf(streams[channel]);
        const extremes = { min: Math.min(...values), max: Math.max(...values) };
        expect({ channel, ...chart }).toMatchObject({ channel, ...extremes });
        expectToReach(channel, chart);
      }
      const figures = page.getByRole('table', { name: 'Lowest, average and highest value of each chart' });
      const row = figures
        .getByRole('row')
        .filter({ has: page.getByRole('rowheader', { name: 'Heart rate' }) });
      await row.getByText(`${drawn['heartrate']?.max} bpm`).waitFor();
    }
  });

  const numbersOf = (values: readonly unknown[] = []) => values.filter((value) => typeof value === 'number');

  /** The line is 1.5 px thick on a plot of some 90 px. */
  function expectToReach(channel: string, { min, max, top, bottom }: DrawnChart): void {
    if (min === max) return;
    expect({ channel, top, isNear: Math.abs(top - TOP) < 0.03 }).toEqual({ channel, top, isNear: true });
    const isNear = Math.abs(bottom - (1 - TOP)) < 0.03;
    expect({ channel, bottom, isNear }).toEqual({ channel, bottom, isNear: true });
  }

  it('a person zooms into the peak of the heart rate, and reads there the value of the API in all charts and on the map', async () => {
    const { page } = operator;
    const channels = ['velocity_smooth', 'heartrate', 'altitude'];
    const [activity] = await world.rows<{ id: string }>(
      `select activity.id
       from activity
       join activity_stream on activity_stream.activity_id = activity.id
       where summary_polyline is not null and channels_available @> $1
       order by start_time
       limit 1`,
      [JSON.stringify(channels)],
    );
    const streams = (await world.streams(runner, String(activity?.id))).body.stream_data ?? {};
    const [seconds, beats] = [numbersOf(streams['time']), numbersOf(streams['heartrate'])];
    const peak = beats.indexOf(Math.max(...beats));
    await page.goto(at(`/athletes/${athleteId}/activities/${activity?.id}`));
    const plot = page.locator('[data-channel=heartrate] .u-over');
    // Waits until the page above has its height: the plot must not move during the drag.
    await settled(page);
    await plot.hover();
    const { x, y, width, height } = (await plot.boundingBox())!;
    const placeOf = (index: number, from: number, to: number) =>
      x + (((seconds[index] ?? 0) - from) / (to - from)) * width;
    const [begin, end] = [seconds[0] ?? 0, seconds.at(-1) ?? 0];
    // A tenth of the recording, so that the drag is long enough on the plot of any activity.
    const reach = Math.max(40, Math.ceil(seconds.length / 20));
    const around = [Math.max(0, peak - reach), Math.min(seconds.length - 1, peak + reach)] as const;
    await page.mouse.move(placeOf(around[0], begin, end), y + height / 2);
    await page.mouse.down();
    await page.mouse.move(placeOf(around[1], begin, end), y + height / 2, { steps: 4 });
    await page.mouse.up();
    await page.getByRole('button', { name: 'Show everything' }).waitFor();
    await page.mouse.move(placeOf(peak, seconds[around[0]] ?? 0, seconds[around[1]] ?? 0), y + height / 2);
    const readout = page.locator('[data-readout]');
    const value = (channel: string) =>
      readout.locator(`[data-channel=${channel}]`).getAttribute('data-value');
    // A drag begins and ends at whole pixels, so the pointer may be some samples off.
    const off = peak - Number(await readout.getAttribute('data-index'));
    expect(Math.abs(off)).toBeLessThan(40);
    await page.getByRole('slider').focus();
    for (let step = 0; step < Math.abs(off); step += 1)
      await page.keyboard.press(off > 0 ? 'ArrowRight' : 'ArrowLeft');
    for (const channel of channels)
      expect([channel, Number(await value(channel))]).toEqual([channel, streams[channel]?.[peak]]);
    expect(Number(await value('heartrate'))).toBe(Math.max(...beats));
    await page.locator(`[data-cursor-index="${peak}"]`).waitFor();
    await page.getByRole('button', { name: 'Show everything' }).click();
  });

  it('an operator cancels an import that the vendor’s limit holds up, and imports what is new', async () => {
    const { page } = operator;
    const imports = card(page, 'Imports');
    // Within the cooldown of a finished import, the same request is answered with that import.
    await world.rows(`update import_jobs set finished_at = finished_at - interval '2 days'`);
    await world.control('POST', 'faults', { vendor: 'strava', endpoint: 'activities', kind: 'http_429' });
    await page.goto(at(`/athletes/${athleteId}`));
    await button(page, 'Import what is new').click();
    await button(imports, 'Cancel').click();
    await imports.getByText('cancelled', { exact: true }).waitFor();
    await world.control('DELETE', 'faults');
    await button(page, 'Import what is new').click();
    await imports.getByText('completed', { exact: true }).nth(1).waitFor();
    const statuses = async () => {
      type Imports = { items: ReadonlyArray<{ type: string; status: string }> };
      const { body } = await world.admin<Imports>('GET', `imports?athlete_id=${athleteId}`);
      return body.items.map(({ type, status }) => `${type} ${status}`);
    };
    const ended = ['incremental completed', 'incremental cancelled', 'full completed'];
    await eventually('the imports ended', async () => (await statuses()).join() === ended.join());
    await page.goto(at(`/imports?athlete=${athleteId}&status=cancelled`));
    const row = page.getByRole('grid', { name: 'Imports' }).getByRole('row').nth(1);
    await row.getByText('cancelled', { exact: true }).waitFor();
    await row.getByRole('link').click();
    await imports.getByText('cancelled', { exact: true }).waitFor();
  });

  it('an athlete sees all jobs of an activity after processing it again, and an operator their runs', async () => {
    const [activity] = await world.rows<{ id: string }>(
      'select id from activity order by start_time limit 1',
    );
    const tab = await Tab.open(browser);
    await tab.page.goto(at(`/activities/${activity?.id}#code=${await newCode(runnerToken)}`));
    const jobs = card(tab.page, 'Processing').getByRole('listitem');
    await jobs.first().waitFor();
    const before = await jobs.count();
    await button(tab.page, 'Process again').click();
    await jobs.nth(before).waitFor();
    expect(tab.problems).toEqual([]);
    await tab.close();

    const { page } = operator;
    await page.goto(at(`/jobs?activity=${activity?.id}`));
    const rows = page.getByRole('grid', { name: 'Jobs' }).getByRole('row');
    await rows.nth(before + 1).waitFor();
    await rows.nth(1).getByRole('button').click();
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('listitem').getByText('succeeded', { exact: true }).waitFor();
    await drawer.getByRole('link').click();
    await page.waitForURL(at(`/athletes/${athleteId}/activities/${activity?.id}`));
    await card(page, 'Processing').getByRole('listitem').nth(before).waitFor();
  });

  /** Adds dead letters as the consumer of raw nights does. */
  async function addLetters(reason: string, nights: readonly object[]): Promise<void> {
    const connection = await connect({ servers: nats.url });
    const letter = headers();
    letter.set('dlq-subject', 'athlete-ally.sleep.raw-received');
    letter.set('dlq-reason', reason);
    for (const payload of nights) {
      const text = JSON.stringify({ eventId: randomUUID(), payload });
      const subject = `dlq.normalize.sleep.raw-received.${reason}`;
      await jetstream(connection).publish(subject, text, { headers: letter });
    }
    await connection.close();
  }

  const nightOf = (date: string) => ({ userId: runner, date, durationMinutes: 434 });

  it('a dead letter is opened with its headers and replayed, and its night is stored', async () => {
    const { page } = operator;
    const night = nightOf('2025-10-03');
    await page.getByRole('link', { name: 'Dead letters', exact: true }).click();
    await page.getByText('There are no dead letters').waitFor();
    await addLetters('max-deliver', [night]);
    await button(card(page, 'Messages'), '1').click();
    const drawer = page.getByRole('dialog');
    await drawer.getByText(night.date).waitFor();
    await drawer.getByText('dlq-subject', { exact: true }).waitFor();
    expect(await look(page, page.url().replace(at(''), ''), 'operator-opened')).toEqual([]);
    await button(drawer, 'Replay').click();
    await page.getByText('There are no dead letters').waitFor();
    await eventually('the night is stored', async () => {
      const { status, body } = await world.call(runner, 'GET', `/v1/sleep/${night.date}`);
      return status === 200 && JSON.stringify(body).includes(String(night.durationMinutes));
    });
  });

  it('all dead letters of a reason are replayed and selected ones discarded, and the counts on the page follow', async () => {
    const { page } = operator;
    const days = Array.from({ length: 28 }, (_, day) => `2025-08-${String(day + 1).padStart(2, '0')}`);
    await addLetters('max-deliver', days.map(nightOf));
    await addLetters(
      'schema-invalid',
      ['a', 'b', 'c'].map((date) => ({ date })),
    );
    await page.goto(at('/dead-letters'));
    const reasons = card(page, 'Reasons').getByRole('listitem');
    const delivered = reasons.filter({ has: button(page, 'max-deliver') });
    await delivered.getByText(String(days.length), { exact: true }).waitFor();
    await button(delivered, 'Replay all').click();
    await delivered.waitFor({ state: 'detached' });
    const stored = `select 1 from sleep_data where date between '2025-08-01' and '2025-08-31'`;
    await eventually('all nights are stored', async () => (await world.rows(stored)).length === days.length);

    await reasons
      .filter({ has: button(page, 'schema-invalid') })
      .getByText('3', { exact: true })
      .waitFor();
    // The counts and the list are two requests. A row of the list before would be a letter that is gone.
    await page.getByRole('checkbox', { name: 'Select row 4', exact: true }).waitFor({ state: 'detached' });
    for (const row of [1, 2])
      await page.getByRole('checkbox', { name: `Select row ${row}`, exact: true }).check();
    await button(card(page, '2 selected'), 'Discard 2').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('discard');
    await button(dialog, 'Discard 2').click();
    await reasons.getByText('1', { exact: true }).waitFor();
    expect((await world.admin<{ counts: object }>('GET', 'dlq')).body.counts).toEqual({
      'schema-invalid': 1,
    });
  });

  it('times are in the person’s zone with UTC on hover, distances in the chosen units, and a filter by day takes the days of that zone', async () => {
    const tab = await Tab.open(browser, { timezoneId: 'Pacific/Kiritimati' });
    const { page } = tab;
    const [first] = await world.rows<{ at: Date; distance: number }>(
      `select start_time as at, distance_m as distance from activity
       where sport_type = 'Run' order by start_time desc limit 1`,
    );
    // Kiritimati is 14 hours before UTC.
    const local = new Date(first!.at.getTime() + 14 * 3_600_000).toISOString();
    const day = local.slice(0, 10);
    await page.goto(at(`/activities?sport=Run&from=${day}&to=${day}#code=${await newCode(runnerToken)}`));
    const row = page.getByRole('grid', { name: 'Activities' }).getByRole('row').nth(1);
    const time = row.locator('time');
    expect(await time.getAttribute('title')).toBe(
      `${first!.at.toISOString().slice(0, 19).replace('T', ' ')} UTC`,
    );
    expect(await time.innerText()).toContain(local.slice(11, 16));
    await row.getByText(`${(first!.distance / 1000).toFixed(2)} km`).waitFor();
    await page.getByRole('link', { name: 'Account', exact: true }).click();
    await page.getByText('Miles', { exact: true }).click();
    await page.goBack();
    await row.getByText(`${(first!.distance / 1609.344).toFixed(2)} mi`).waitFor();
    await page.reload();
    await row.getByText(' mi').first().waitFor();
    expect(page.url()).toBe(at(`/activities?sport=Run&from=${day}&to=${day}`));
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it('a delivery is sent again to its endpoint, which is then disabled and enabled', async () => {
    const { page } = operator;
    const receiver = await Receiver.start();
    const authorization = `Bearer ${await world.serviceKey('events')}`;
    const asApp = (path: string, body: object) =>
      world.call<{ id: string }>('app', 'POST', `/v1/webhook-endpoints${path}`, body, { authorization });
    const endpoint = { url: receiver.url, types: ['connection.*'], description: 'Training app' };
    const { id } = (await asApp('', endpoint)).body;
    await asApp(`/${id}/test`, {});
    await eventually('the test delivery', () => receiver.received.length === 1);

    await page.goto(at('/webhooks'));
    await page.getByRole('link', { name: endpoint.description }).click();
    const deliveries = card(page, 'Deliveries');
    await deliveries.getByText('delivered', { exact: true }).waitFor();
    await button(deliveries, 'Send again').click();
    await eventually('a second delivery', () => receiver.received.length === 2);
    expect(new Set(receiver.ids).size).toBe(1);

    await deliveries.getByRole('row').nth(1).getByRole('button').first().click();
    await page.waitForURL(/\?delivery=\d+$/);
    await page.reload();
    await page.getByRole('dialog').getByText('delivered', { exact: true }).waitFor();
    await button(page.getByRole('dialog'), 'Close').click();

    const statusOf = async () => {
      type Endpoints = { items: ReadonlyArray<{ status: string }> };
      return (await world.admin<Endpoints>('GET', 'webhook-endpoints')).body.items.map(
        ({ status }) => status,
      );
    };
    await button(page, 'Disable').click();
    await button(page, 'Enable').waitFor();
    expect([await statusOf(), await button(deliveries, 'Send again').isDisabled()]).toEqual([
      ['disabled'],
      true,
    ]);
    await button(page, 'Enable').click();
    await button(page, 'Disable').waitFor();
    expect(await statusOf()).toEqual(['active']);
    await receiver.stop();
  });

  it('a new key is shown once and works until it is revoked', async () => {
    const { page } = operator;
    const name = 'Training server';
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await button(page, 'Create a key').click();
    const drawer = page.getByRole('dialog');
    await drawer.getByLabel('Name').fill(name);
    await drawer.getByRole('checkbox', { name: /^events/ }).check();
    await button(drawer, 'Create the key').click();
    const key = await drawer.getByLabel('Key', { exact: true }).inputValue();
    const answerTo = async () => {
      const authorization = `Bearer ${key}`;
      return (await world.call('app', 'GET', '/v1/athletes', undefined, { authorization })).status;
    };
    expect(await answerTo()).toBe(200);
    await button(drawer, 'Close').click();
    const row = page.getByRole('row').filter({ hasText: name });
    await row.getByText('read, events').waitFor();
    const everywhere = [await page.content(), await operator.stored(), page.url()];
    expect(everywhere.filter((text) => text.includes(key))).toEqual([]);

    await button(row, 'Revoke').click();
    await page.getByRole('dialog').getByRole('textbox').fill(name);
    await button(page.getByRole('dialog'), 'Revoke').click();
    await row.getByText('revoked', { exact: true }).waitFor();
    await eventually('the key is refused', async () => (await answerTo()) === 401);
  });

  it('the audit log shows the actions, and the reads of athletes’ data on request', async () => {
    const { page } = operator;
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    const log = page.getByRole('grid', { name: 'Actions' });
    const read = '"method":"GET"';
    for (const action of [
      'backfills.pause',
      'streams.reset',
      'dlq.discard',
      'webhook-endpoint.enable',
      'key.revoke',
    ])
      await log.getByText(action, { exact: true }).first().waitFor();
    expect(await log.getByText(read).count()).toBe(0);
    await page.getByLabel('Show').selectOption('reads');
    await log.getByText(read).first().waitFor();
    expect(page.url()).toBe(at('/audit?show=reads'));
    expect(await log.getByText('dlq.discard').count()).toBe(0);
  });

  it.each(['athlete', 'operator'] as const)(
    'axe finds nothing serious on the pages of the %s, light and dark, and none is wider than a phone',
    async (role) => {
      const tab = role === 'operator' ? operator : await Tab.open(browser);
      const { page } = tab;
      if (role === 'athlete') {
        // One person at both vendors, who has most nights at one of them.
        for (const [vendor, nights] of Object.entries(NIGHTS)) {
          const id = await world.simulator.newAthlete(vendor, { activities: 0, nights, seed: 39 });
          await world.connect(runner, id, vendor);
        }
        const stored = `select distinct vendor from sleep_session where vendor in ('oura', 'whoop')`;
        await eventually(
          'nights of both vendors are stored',
          async () => (await world.rows(stored)).length === 2,
        );
        await page.goto(at(`/#code=${await newCode(runnerToken)}`));
      }
      const unlucky = role === 'operator' ? await makeMatters() : undefined;
      await pagesIn(page).first().waitFor();
      const links = await Promise.all((await pagesIn(page).all()).map((link) => link.getAttribute('href')));
      // The run with the most segments has the most to show.
      const [activity] = await world.rows<{ id: string }>(
        `select activity_id as id from runs join activity on activity.id = activity_id
         where status = 'succeeded' and sport_type = 'Run' and average_heartrate is not null and summary_polyline is not null
         order by jsonb_array_length(result_json -> 'segments') desc nulls last, activity_id limit 1`,
      );
      const of = role === 'operator' ? `/athletes/${athleteId}` : '';
      const further = [
        `${of}/activities`,
        `${of}/activities/${activity?.id}`,
        `${of}/sleep`,
        of,
        unlucky ? `/athletes/${unlucky}` : '/no-such-page',
      ];
      const paths = new Set([
        ...links.map((path) => String(path).replace('/console', '')),
        ...further.filter(Boolean),
      ]);
      const findings: string[] = [];
      for (const path of paths) findings.push(...(await look(page, path, role)));
      expect(findings).toEqual([]);
      expect(tab.problems).toEqual([]);
    },
  );

  /**
   * Fills the pages that are empty while all is well: viewers at the gate, vendor events that were set aside, and an athlete whose grant has
   * ended. Returns the athlete's id.
   */
  async function makeMatters(): Promise<string> {
    for (const session of ['living-room', 'tablet', 'kitchen'])
      expect((await get(world.api, streamPath(session))).body.streams).toHaveLength(2);
    await world.rows(
      `insert into webhook_event
         (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, processed_at, outcome, attempts, last_error)
       select vendor, 'of a test', '7', object, '11223344', 'update', now(), '{}', now(), 'set_aside', 20, error
       from (values ('strava', 'activity', 'VENDOR_CALL_REFUSED'), ('oura', 'sleep', 'VENDOR_ANSWER_MALFORMED'),
         ('polar', 'activity', 'VENDOR_NOT_FOUND')) as made (vendor, object, error)`,
    );
    const id = randomUUID();
    await world.rows(`insert into athlete (id, issuer, subject) values ($1, 'test', 'ben')`, [id]);
    await world.rows(
      `insert into connection
         (athlete_id, provider, vendor_athlete_id, status, scopes, access_token, refresh_token, key_version, expires_at)
       values ($1, 'whoop', '90210', 'needs_reauth', '{read:sleep}', '', '', 1, now())`,
      [id],
    );
    return id;
  }

  /** Photographs a page at both widths and in both themes. Returns what axe finds. */
  async function look(page: Page, path: string, role: string): Promise<string[]> {
    const about = path
      .replace(athleteId, 'id')
      .replace(/\/[\da-f-]{36}$/, '/other')
      .replace(/\/activities\/.+/, '/activity');
    const name = `${role}${about.replaceAll(/\W/g, '-')}`;
    await page.goto(at(path));
    await settled(page);
    const findings: string[] = [];
    for (const [width, colorScheme, rules] of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await fitsInto(page, width);
      await screenshot(page, `${name}-${width}-${colorScheme}`);
      const found = await axeFindings(page, rules);
      findings.push(...found.map((line) => `${path} ${width} ${colorScheme}: ${line}`));
    }
    if (PICTURES[name]) await pictureForReadme(page, PICTURES[name]);
    return findings;
  }

  it('pages read nothing more often than every 15 s while nothing happens', async () => {
    const tab = await Tab.open(browser);
    const { page } = tab;
    await page.clock.install();
    await page.goto(at(`/#code=${await newCode(operatorToken)}`));
    await pagesIn(page).first().waitFor();
    const open = new Set<Request>();
    const read: string[] = [];
    page.on('request', (request) => {
      if (request.resourceType() !== 'fetch') return;
      open.add(request);
      const { pathname, search } = new URL(request.url());
      read.push(pathname + search);
    });
    const ended = (request: Request) => void open.delete(request);
    page.on('requestfinished', ended).on('requestfailed', ended);
    // Requests of the document before neither finish nor fail.
    page.on('framenavigated', () => open.clear());
    for (const path of ['/overview', '/dead-letters', '/webhooks', '/gate', '/jobs']) {
      await page.goto(at(path));
      await isLive(page);
      await settled(page);
      await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 1_000);
      read.length = 0;
      for (let step = 0; step < STEPS_IN_45_S; step += 1) {
        await page.clock.runFor(45_000 / STEPS_IN_45_S - 10);
        await eventually('all answers are here', () => open.size === 0);
      }
      const often = read.filter((one) => read.filter((other) => other === one).length > 2);
      expect({ path, often }).toEqual({ path, often: [] });
      await page.clock.resume();
    }
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it('a page that loses the server says so, and is live again without a reload when the server is back', async () => {
    const { page } = operator;
    await page.goto(at('/overview'));
    await isLive(page);
    await button(page, 'Pause all backfills').waitFor();
    await page.evaluate('window.isSameDocument = true');
    // This page reads nothing again, so that only its event stream tells about the server.
    const still = await page.context().newPage();
    await still.goto(at('/account'));
    await isLive(still);
    world.api.signal('SIGKILL');
    await world.api.exited();
    for (const each of [still, page])
      await each.getByRole('alert').getByText('The figures below are those of the last answer.').waitFor();
    await page.getByRole('status').getByText('Every 15 s').waitFor();

    const postgres = await Proxy.before(world.env.DATABASE_URL ?? '');
    world.api = await ProductProcess.start('api', { ...world.env, DATABASE_URL: postgres.url });
    for (const each of [still, page]) {
      await isLive(each);
      await each.getByText('The figures below are those of the last answer.').waitFor({ state: 'detached' });
    }
    await still.close();
    // The page hears of this by its event stream only.
    await world.admin('POST', 'backfills/pause');
    await button(page, 'Resume all backfills').waitFor();
    // The api itself answers, so its event stream tells.
    postgres.cut();
    await page.getByRole('alert').getByText('Postgres does not answer.').waitFor();
    postgres.heal();
    await page.getByText('Postgres does not answer.').waitFor({ state: 'detached' });
    expect(await page.evaluate('window.isSameDocument')).toBe(true);
    expect(operator.problems).toEqual([]);
  });

  it('figures that cannot be refreshed show their time, and are refreshed again when NATS is back', async () => {
    const { page } = operator;
    await page.goto(at('/dead-letters'));
    await card(page, 'Reasons').getByText('schema-invalid').waitFor();
    await isLive(page);
    await nats.kill();
    await page.getByText('These figures are from').first().waitFor();
    await card(page, 'Reasons').getByText('schema-invalid').waitFor();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await card(page, 'Needs a person').getByText('NATS does not answer').waitFor();
    await nats.start();
    await page.getByText('NATS does not answer').first().waitFor({ state: 'detached' });
    expect(operator.problems).toEqual([]);
  });

  it('the overview lists a consumer without a worker, with the commands that start a worker, until one runs', async () => {
    const { page } = operator;
    const consumer = 'normalize-sleep-durable';
    for (const worker of [...world.workers]) await world.kill(worker);
    const connection = await connect({ servers: nats.url });
    await (await jetstreamManager(connection)).consumers.delete('AA_CORE_HOT', consumer);
    await connection.close();
    await page.goto(at('/overview'));
    // Its neighbour, "…-undelivered", is another consumer.
    const matter = card(page, 'Needs a person')
      .getByRole('listitem')
      .filter({ hasText: new RegExp(`${consumer}(?!-)`) });
    const drawer = page.getByRole('dialog');
    try {
      await button(matter, 'Start a worker').click();
      expect(await drawer.getByLabel('Docker Compose').inputValue()).toBe('docker compose up -d worker');
      for (const width of [390, 1280]) {
        await fitsInto(page, width);
        await screenshot(page, `operator-start-worker-${width}`);
      }
      expect(await axeFindings(page)).toEqual([]);
    } finally {
      await world.startWorker(); // The tests below need one as well.
    }
    await matter.waitFor({ state: 'detached' });
    await button(drawer, 'Close').click();
    expect(await matter.count()).toBe(0);
    expect(operator.problems).toEqual([]);
  });

  it('nothing moves for a person who prefers reduced motion, and bars move for others', async () => {
    const { page } = operator;
    await page.goto(at('/overview'));
    await page
      .getByRole('img', { name: /^Calls of/ })
      .first()
      .waitFor();
    const moving = async (reducedMotion: 'reduce' | 'no-preference') => {
      await page.emulateMedia({ reducedMotion });
      return page.evaluate<number>(`[...document.querySelectorAll('*')].map((one) => getComputedStyle(one))
        .filter((style) => style.animationName !== 'none' || style.transitionDuration !== '0s').length`);
    };
    expect(await moving('no-preference')).toBeGreaterThan(0);
    expect(await moving('reduce')).toBe(0);
  });

  it('an operator deletes an athlete by typing the id, and the receipt shows the counts of the API', async () => {
    const { page } = operator;
    await page.goto(at(`/athletes/${athleteId}`));
    await button(page, 'Delete the athlete').click();
    const dialog = page.getByRole('dialog');
    for (const leave of [() => page.keyboard.press('Escape'), () => button(dialog, 'Cancel').click()]) {
      await dialog.waitFor();
      await leave();
      await dialog.waitFor({ state: 'detached' });
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Delete the athlete');
      await page.keyboard.press('Enter');
    }
    await dialog.waitFor();
    for (let step = 0; step < 6; step += 1) {
      await page.keyboard.press('Tab');
      // The browser's own controls come after the last one of the dialog.
      const isInside = `document.activeElement === document.body || !!document.activeElement.closest('dialog')`;
      expect(await page.evaluate(isInside)).toBe(true);
    }
    const confirm = button(dialog, 'Delete the athlete');
    await dialog.getByRole('textbox').fill(athleteId.slice(0, -1));
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill(athleteId);
    await confirm.click();
    await page.getByRole('heading', { name: 'Receipt of a deletion' }).waitFor();
    const id = page.url().split('/').at(-1) ?? '';
    type Receipt = { status: string; deleted: Record<string, number> };
    const { status, deleted } = await eventually('the deletion is completed', async () => {
      const { body } = await world.call<Receipt>('nobody', 'GET', `/v1/receipts/${id}`);
      return body.status === 'completed' ? body : undefined;
    });
    // The page reads the receipt every 15 s.
    await page.reload();
    await card(page, 'The whole account').getByText('completed', { exact: true }).waitFor();
    expect({ status, activities: deleted['activities'] }).toEqual({
      status: 'completed',
      activities: ACTIVITIES,
    });
    const shown = await card(page, 'Deleted records').getByRole('definition').allInnerTexts();
    expect(shown.map((text) => Number(text.replaceAll(',', '')))).toEqual(Object.values(deleted));
    expect(await look(page, `/receipts/${id}`, 'nobody')).toEqual([]);
    expect((await world.admin('GET', `athletes/${athleteId}`)).status).toBe(404);
    expect(operator.problems).toEqual([]);
  });

  it('a list of 1,000 athletes keeps at most 100 rows in the document, from its beginning to its end', async () => {
    await world.rows(
      `insert into athlete (id, issuer, subject) select gen_random_uuid(), 'test', 'many-' || n from generate_series(1, $1::int) n`,
      [ATHLETES_IN_LIST],
    );
    const { page } = operator;
    await page.goto(at('/athletes'));
    const list = page.getByRole('grid', { name: 'Athletes' });
    await list.waitFor();
    let most = 0;
    await eventually('the end is loaded', async () => {
      await page.evaluate("document.querySelector('.table-scroll').scrollBy(0, 2000)");
      most = Math.max(most, await page.evaluate<number>("document.querySelectorAll('tbody tr').length"));
      return Number(await list.getAttribute('aria-rowcount')) > ATHLETES_IN_LIST;
    });
    expect(most).toBeGreaterThan(10);
    expect(most).toBeLessThanOrEqual(MOST_ROWS);
    expect(operator.problems).toEqual([]);
  });
});
