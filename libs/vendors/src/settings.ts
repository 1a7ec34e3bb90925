import { type Config, loadConfig, type VendorConfig, type VendorConfigs } from '#platform';
import { VENDOR_IDS, type VendorId, VENDORS } from './registry.js';

type Settings = { readonly [Id in VendorId]: (typeof VENDORS)[Id]['settings'] };

/** The variables of every vendor. */
export const VENDOR_SETTINGS = Object.fromEntries(
  VENDOR_IDS.map((id) => [id, VENDORS[id].settings]),
) as Settings;

/** The configuration of the product, with each vendor's own fields typed. */
export type ProductConfig = Config<VendorConfigs<Settings>>;

/** Settings that some vendors declare. */
interface OptionalSettings {
  /** Absent: the vendor's data is kept without end. */
  readonly retentionDays?: number;
  /** True: our titles and descriptions are written to new activities. */
  readonly writesBack?: boolean;
}

/** The optional settings of a vendor, whether it declares them or not. */
export function settingsOf({ vendors }: Pick<ProductConfig, 'vendors'>, id: VendorId): OptionalSettings {
  const settings: Partial<Record<VendorId, VendorConfig & OptionalSettings>> = vendors;
  return settings[id] ?? {};
}

/** Parses the environment. Throws ConfigInvalid with every problem; no message contains a value. */
export function loadProductConfig(env: Readonly<Record<string, string | undefined>>): ProductConfig {
  return loadConfig(env, VENDOR_SETTINGS);
}
