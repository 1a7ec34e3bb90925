// A new vendor needs a folder, lines in this file and a line in simulator.ts.
export const VENDORS_WITH_ATHLETES = ['strava', 'oura', 'whoop', 'polar'] as const;
export const VENDORS = [...VENDORS_WITH_ATHLETES, 'broker'] as const;
export type Vendor = (typeof VENDORS)[number];

/** The id of a vendor's first athlete. */
export const FIRST_IDS: Readonly<Record<Vendor, bigint>> = {
  strava: 134_815n,
  oura: 1n,
  whoop: 10_129n,
  polar: 2_278_512n,
  broker: 1n,
};

/** The endpoint names in statistics and faults. A route has such a name in `config.endpoint`. */
export const ENDPOINTS = {
  strava: [
    'token',
    'revoke',
    'athlete',
    'activities',
    'activity',
    'update_activity',
    'streams',
    'photos',
    'laps',
    'zones',
    'push_subscriptions',
    'webhooks',
  ],
  oura: ['token', 'revoke', 'personal_info', 'sleep', 'daily_sleep', 'subscriptions', 'webhooks'],
  whoop: ['token', 'revoke', 'profile', 'body_measurement', 'sleep', 'recovery', 'cycle', 'webhooks'],
  polar: ['token', 'users', 'exercises', 'exercise', 'files', 'sleep', 'subscriptions', 'webhooks'],
  broker: ['catalog', 'resolve', 'media'],
} as const satisfies Record<Vendor, readonly string[]>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The judge and the faults know a route by this name. A route without a name is not counted, and no fault hits it. */
    endpoint?: string;
  }
}
