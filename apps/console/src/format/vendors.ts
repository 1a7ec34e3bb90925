import { type Schema } from '../app/api.js';

type Vendor = Schema<'SessionVendorAnswer'>;
export type VendorId = Vendor['provider'];
/** The ids of the vendors that have activities, as the API's queries and bodies take them. */
export type ActivityVendorId = Schema<'ImportAnswer'>['provider'];

// They come with the session, which the router reads before any page.
let known: readonly Vendor[] = [];

export function setVendors(vendors: readonly Vendor[]): void {
  known = vendors;
}

/** All vendors, or those that such records come from, in the order of the API. */
export function vendorsWith(records: 'activities'): readonly ActivityVendorId[];
export function vendorsWith(records?: Vendor['records'][number]): readonly VendorId[];
export function vendorsWith(records?: Vendor['records'][number]): readonly VendorId[] {
  return known
    .filter((vendor) => !records || vendor.records.includes(records))
    .map(({ provider }) => provider);
}

export function hasActivities(vendor: VendorId): vendor is ActivityVendorId {
  return vendorsWith('activities').some((id) => id === vendor);
}

/** The vendor's name as the vendor writes it. A night that an app sent has the vendor `unknown`. */
export function vendorName(provider: string): string {
  if (provider === 'unknown') return 'an app';
  return known.find((vendor) => vendor.provider === provider)?.title ?? provider;
}

/** `One, Two and Three`, or `One or Two`. */
export function vendorNames(vendors: readonly VendorId[], type: 'conjunction' | 'disjunction'): string {
  // The British list has no comma before its last word.
  return new Intl.ListFormat('en-GB', { type }).format(vendors.map(vendorName));
}

/** Says which records a connection to the vendor brings, and from when on. */
export function afterConnecting(vendor: VendorId): string {
  const { title, records, has_history } = known.find(({ provider }) => provider === vendor) as Vendor;
  const what = new Intl.ListFormat('en-GB').format(
    records.map((record) => (record === 'sleep' ? 'nights' : record)),
  );
  return has_history
    ? `Your ${what} are imported as soon as it is connected.`
    : `Your ${what} come from the connection on; ${title} gives no earlier ones.`;
}

/** Names a counter of a vendor's limits: `read per 15 min`, `overall per day`. */
export function limitName({ bucket, window }: { readonly bucket: string; readonly window: string }): string {
  return `${bucket} per ${window.replace(/^(\d+)/, '$1 ')}`;
}
