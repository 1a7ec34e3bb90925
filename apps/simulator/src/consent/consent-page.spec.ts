import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Harness } from '../simulator.harness.js';

const BACK = '&client_id=any&response_type=code&redirect_uri=http%3A%2F%2Fapp.test%2Fback';

describe('the consent page', () => {
  let sim: Harness;
  beforeAll(async () => {
    sim = await Harness.open({ appName: 'Coach & Co' });
  });
  afterAll(() => sim.close());

  it.each([
    ['Strava', `/oauth/authorize?scope=read${BACK}`, 'View data about your public profile'],
    ['Oura', `/oura/oauth/authorize?scope=daily${BACK}`, 'View your daily summaries of sleep'],
    ['WHOOP', `/whoop/oauth/oauth2/auth?scope=offline${BACK}`, 'Stay connected while you are away'],
  ])(
    'the consent page of %s names the app, describes the scopes and links back, in light and dark',
    async (vendor, url, words) => {
      const { status, text } = await sim.get(url);
      expect(status).toBe(200);
      expect(text).toContain(`simulated ${vendor}`);
      expect(text).toContain('Let Coach &#38; Co connect?');
      expect(text).toContain(words);
      expect(text).toContain('You return to app.test.');
      expect(text).toContain('prefers-color-scheme:dark');
      expect(text.replaceAll(vendor, '').replace(/<style>.*<\/style>/s, '')).not.toMatch(/Strava|Oura|WHOOP/);
    },
  );
});
