import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Harness } from '../simulator.harness.js';
import { openSimulator } from '../wearables/wearable.harness.js';
import { Checks } from './checks.harness.js';
import { Description } from './description.harness.js';
import { OURA } from './oura.harness.js';
import { POLAR } from './polar.harness.js';
import { STRAVA } from './strava.harness.js';
import { WHOOP } from './whoop.harness.js';

/**
 * A folder with `strava.json`, `oura.json`, `whoop.json` and `polar.json`, the vendors' OpenAPI descriptions. The folder is outside
 * this repository, because we may not copy these files.
 */
const FOLDER = process.env.VENDOR_SPECS_DIR;
const suite = FOLDER ? describe : describe.skip;
const because = FOLDER ? '' : ', skipped because VENDOR_SPECS_DIR names no folder with the descriptions';

const VENDORS = [STRAVA, OURA, WHOOP, POLAR];

it.each(VENDORS)(
  'docs/simulator.md lists the routes of $name that the simulator does not offer',
  (vendor) => {
    const [, section = ''] = readFileSync('docs/simulator.md', 'utf8').split('\n## Not offered\n');
    const [, listed] = new RegExp(`^\\| ${vendor.name} +\\| (.+?) +\\|$`, 'im').exec(section) ?? [];
    expect(listed).toBe(vendor.notOffered.map(([, name]) => name).join(', '));
  },
);

suite(`the simulator against the vendors' own descriptions${because}`, () => {
  let sim: Harness;
  afterEach(() => sim.close());

  it.each(VENDORS)(
    'the simulator answers every offered operation of $name as described, with status, body and every field',
    async (vendor) => {
      sim = await openSimulator();
      const checks = new Checks(vendor, new Description(FOLDER!, vendor.name, vendor.name === 'strava'), sim);
      await vendor.exercise(checks);
      expect(checks.problems).toEqual([]);
      expect(checks.unanswered).toEqual([]);
      expect(checks.neverGiven).toEqual([]);
      expect(checks.misnamed).toEqual([]);
      expect(await checks.offeredAfterAll()).toEqual([]);
    },
  );
});
