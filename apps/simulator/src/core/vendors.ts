export const VENDORS = ['strava', 'oura', 'whoop', 'broker'] as const;
export type Vendor = (typeof VENDORS)[number];

/** The names that stats and faults use; a route carries its own in `config.endpoint`. */
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
  whoop: ['token', 'revoke', 'profile', 'sleep', 'recovery', 'cycle', 'webhooks'],
  broker: ['catalog', 'resolve', 'media'],
} as const satisfies Record<Vendor, readonly string[]>;

export function hasEndpoint(vendor: Vendor, endpoint: string): boolean {
  return (ENDPOINTS[vendor] as readonly string[]).includes(endpoint);
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Counted by the judge and open to faults under this name; a route without one is neither. */
    endpoint?: string;
  }
}
