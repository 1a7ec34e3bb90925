import { type VendorId, vendorsWith } from '#vendors';

/** The vendors whose records we fetch. */
export const NATIVE_VENDORS: readonly VendorId[] = vendorsWith('sleep');
export type NativeVendor = VendorId;
