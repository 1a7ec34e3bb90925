import { oura } from './oura/vendor.js';
import { polar } from './polar/vendor.js';
import { strava } from './strava/vendor.js';
import { type Vendor } from './vendor.js';
import { whoop } from './whoop/vendor.js';

/** The vendors of this product, in the order in which they are listed to athletes. A new vendor is a folder and a line here. */
export const VENDORS = {
  strava,
  oura,
  whoop,
  polar,
} satisfies Readonly<Record<string, Vendor>>;

export type VendorId = keyof typeof VENDORS;

export const VENDOR_IDS = Object.keys(VENDORS) as VendorId[] as readonly VendorId[];

export function isVendor(name: string): name is VendorId {
  return Object.hasOwn(VENDORS, name);
}

export function titleOf(id: VendorId): string {
  return VENDORS[id].title;
}

/** Returns the vendors that have this part, such as a capability. */
export function vendorsWith(part: keyof Vendor): VendorId[] {
  return VENDOR_IDS.filter((id) => VENDORS[id][part] !== undefined);
}
