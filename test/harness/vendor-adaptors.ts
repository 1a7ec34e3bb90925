import { subscriptionPlace, Vault } from '#connections';
import { loadProductConfig, type VendorId } from '#vendors';
import { type World } from './world.js';

/** The facts of a simulated vendor that its entry in the registry does not have. The conformance suite needs them for each vendor. */
interface VendorAdaptor {
  /** A GET below the API's URL that answers 200 to a valid token of the athlete, and a 4xx to every other token. */
  probePath(vendorAthleteId: string): string;
  /** The simulator's name of the endpoint that ends a grant. */
  readonly revocationEndpoint: string;
  /** Absent: a refresh token stays the same. */
  readonly rotatesRefreshTokens?: true;
  /** The vendor hides records from before the connection. */
  readonly hidesHistory?: true;
  /** The date of a night is its id. */
  readonly namesNightsByDate?: true;
  /** The limits of the shortest window by their names in `POST /__sim/limits`, low enough that a dozen records need several windows. */
  readonly scarceLimits: Readonly<Record<string, number>>;
  /** The secret that proves the vendor's events. Default: that of the client. */
  webhookSecret?(world: World): string | Promise<string>;
}

/** The secret that the vendor issued with our subscription. */
function keyOfSubscription(vendor: VendorId) {
  return async (world: World): Promise<string> => {
    const statement = 'select topic, secret from webhook_subscription where vendor = $1';
    const [row] = await world.rows<{ topic: string; secret: string }>(statement, [vendor]);
    if (!row) throw new Error(`no subscription at ${vendor}`);
    const vault = new Vault(loadProductConfig(world.env).encryptionKeys);
    return vault.open(row.secret, subscriptionPlace(vendor, row.topic));
  };
}

const ADAPTORS: Partial<Record<VendorId, VendorAdaptor>> = {
  strava: {
    probePath: () => '/athlete',
    revocationEndpoint: 'revoke',
    rotatesRefreshTokens: true,
    scarceLimits: { read_15min: 10, overall_15min: 10 },
    webhookSecret: ({ env }) => env.STRAVA_WEBHOOK_PATH_SECRET ?? '',
  },
  oura: {
    probePath: () => '/v2/usercollection/personal_info',
    revocationEndpoint: 'revoke',
    rotatesRefreshTokens: true,
    scarceLimits: { token: 6 },
  },
  whoop: {
    probePath: () => '/v2/user/profile/basic',
    revocationEndpoint: 'revoke',
    rotatesRefreshTokens: true,
    // A minute lasts less than a second in these tests.
    scarceLimits: { minute: 2 },
  },
  polar: {
    probePath: (vendorAthleteId) => `/users/${vendorAthleteId}`,
    revocationEndpoint: 'users',
    hidesHistory: true,
    namesNightsByDate: true,
    scarceLimits: { quarter_hour: 10 },
    webhookSecret: keyOfSubscription('polar'),
  },
};

export function adaptorOf(vendor: VendorId): VendorAdaptor {
  const adaptor = ADAPTORS[vendor];
  if (!adaptor)
    throw new Error(
      `${vendor} is in the registry, but test/harness/vendor-adaptors.ts has no adaptor for it. Add one, and the conformance suite tests the vendor.`,
    );
  return adaptor;
}
