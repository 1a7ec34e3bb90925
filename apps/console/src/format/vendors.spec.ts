import { beforeAll, describe, expect, it } from '@jest/globals';
import { afterConnecting, limitName, setVendors, vendorName, vendorNames, vendorsWith } from './vendors.js';

describe('vendors', () => {
  beforeAll(() =>
    setVendors([
      { provider: 'strava', title: 'Strava', records: ['activities'], has_history: true },
      { provider: 'whoop', title: 'WHOOP', records: ['sleep'], has_history: true },
      { provider: 'polar', title: 'Polar', records: ['activities', 'sleep'], has_history: false },
    ]),
  );

  it('a vendor of the session has its own spelling; an unknown one keeps its id', () => {
    expect(vendorName('whoop')).toBe('WHOOP');
    expect(vendorName('garmin')).toBe('garmin');
    expect(vendorName('unknown')).toBe('an app');
  });

  it('vendorNames lists the vendors that give the requested records', () => {
    expect(vendorNames(vendorsWith('activities'), 'disjunction')).toBe('Strava or Polar');
    expect(vendorNames(vendorsWith(), 'conjunction')).toBe('Strava, WHOOP and Polar');
  });

  it('afterConnecting says which records come, and from when on', () => {
    expect(afterConnecting('whoop')).toBe('Your nights are imported as soon as it is connected.');
    expect(afterConnecting('polar')).toBe(
      'Your activities and nights come from the connection on; Polar gives no earlier ones.',
    );
  });

  it('limitName separates the number of the window from its unit', () => {
    expect(limitName({ bucket: 'read', window: '15min' })).toBe('read per 15 min');
    expect(limitName({ bucket: 'overall', window: 'day' })).toBe('overall per day');
  });
});
