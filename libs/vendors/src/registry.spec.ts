import { describe, expect, it } from '@jest/globals';
import { isVendor, VENDOR_IDS, VENDORS, vendorsWith } from './registry.js';

describe('the registry of vendors', () => {
  it.each(VENDOR_IDS)('the entry of %s has the same id as its limits and its variables', (id) => {
    const { id: own, limits, settings } = VENDORS[id];
    expect([own, limits.vendor, settings.prefix.toLowerCase()]).toEqual([id, id, id]);
  });

  it('each vendor with activities has a share of its day for their reconciliation', () => {
    const without = vendorsWith('activities').filter((id) => !VENDORS[id].limits.shares?.reconciliation);
    expect(without).toEqual([]);
  });

  it('isVendor is false for a name that is only a property of every object', () => {
    expect(['strava', 'garmin', 'toString', '__proto__'].map(isVendor)).toEqual([true, false, false, false]);
  });

  it('vendorsWith lists the vendors that have the part', () => {
    expect(vendorsWith('oauth')).toEqual(VENDOR_IDS);
    expect(vendorsWith('activities')).toEqual(['strava', 'polar']);
    expect(vendorsWith('sleep')).toEqual(['oura', 'whoop', 'polar']);
  });
});
