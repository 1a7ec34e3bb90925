import { isVendor, VENDOR_IDS, type VendorId } from '#vendors';

/** A vendor, in the words of OAuth and of the API. */
export type Provider = VendorId;

export const PROVIDERS = VENDOR_IDS;

export const isProvider: (name: string) => name is Provider = isVendor;

/** Vendors reject a code if its exchange names another URI than the authorization request. */
export function redirectUri(publicUrl: string, provider: Provider): string {
  return `${publicUrl}/oauth/${provider}/callback`;
}
