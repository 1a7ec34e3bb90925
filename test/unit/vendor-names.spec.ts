import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { VENDOR_IDS } from '#vendors';

const ROOT = join(import.meta.dirname, '../..');
const PRODUCT = ['libs', 'apps/api/src', 'apps/worker/src', 'apps/all/src', 'apps/console/src'];
// The generated athletes have Strava's form. Nothing of the product imports them. A file `.d.ts` is made from the API's document.
const OTHER = ['libs/vendors/src/', 'libs/training-world/'];

/** The files that may name a vendor, each with its reason. */
const NAMED: Readonly<Record<string, string>> = {
  'libs/admin/src/observability.ts': 'the contract shows one vendor’s windows first',
  'libs/rate-limit/src/ledger.ts': 'the contract fixes the name of one vendor’s table',
  'libs/sleep/src/native/retired-consumers.ts': 'names of consumers of an earlier release',
  'apps/api/src/admin/admin.dto.ts': 'describes the windows of observability.ts',
  'apps/api/src/admin/failures.dto.ts': 'an example',
  'apps/api/src/admin/queues.dto.ts': 'an example',
  'apps/api/src/openapi/document.ts': 'the first sentence of the API document',
  'apps/api/src/activities/imports.controller.ts': 'the contract has a default vendor',
  'apps/api/src/sleep/sleep.dto.ts': 'an example',
  'apps/api/src/streams/streams.dto.ts': 'an example',
  'apps/api/src/session/session.dto.ts': 'an example',
  'apps/api/src/webhooks/webhook.controller.ts': 'describes the parameters of each vendor’s challenge',
};

const isProduct = (file: string) =>
  /\.tsx?$/.test(file) &&
  !/\.(spec|harness|d)\.tsx?$/.test(file) &&
  !OTHER.some((folder) => file.startsWith(folder));

function filesOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter(isProduct);
}

/** Comments may give a vendor as the reason of something. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
}

const files = PRODUCT.flatMap(filesOf);
const vendor = new RegExp(VENDOR_IDS.join('|'), 'i');
const naming = files.filter((file) => vendor.test(withoutComments(readFileSync(join(ROOT, file), 'utf8'))));

describe('the names of vendors', () => {
  it('only the folders of vendors name a vendor, so that a new one needs no edit elsewhere', () => {
    expect(files.length).toBeGreaterThan(400);
    expect(naming.sort()).toEqual(Object.keys(NAMED).sort());
  });
});
