import { z } from 'zod';
import { type SimulatorOptions } from './simulator.js';

const Port = z.coerce.number().int().min(0).max(65_535);
const Environment = z.object({
  SIMULATOR_HOST: z.string().default('127.0.0.1'),
  SIMULATOR_PORT: Port.default(4010),
  TIME_SCALE: z.coerce.number().positive().default(1),
  SIMULATOR_STATE: z.string().optional(),
  SIMULATOR_REFRESH_GRACE_SECONDS: z.coerce.number().min(0).default(0),
  STRAVA_CLIENT_ID: z.string().optional(),
  STRAVA_CLIENT_SECRET: z.string().optional(),
  STRAVA_SIGNING_SECRET: z.string().optional(),
  STRAVA_ATHLETE_CAPACITY: z.coerce.number().int().positive().optional(),
  OURA_CLIENT_ID: z.string().optional(),
  OURA_CLIENT_SECRET: z.string().optional(),
  OURA_ATHLETE_CAPACITY: z.coerce.number().int().positive().optional(),
  WHOOP_CLIENT_ID: z.string().optional(),
  WHOOP_CLIENT_SECRET: z.string().optional(),
});

export interface Configuration {
  readonly host: string;
  readonly port: number;
  readonly options: SimulatorOptions;
}

/** Throws one error that lists every problem. */
export function readEnvironment(environment: NodeJS.ProcessEnv): Configuration {
  // An empty variable is how a compose file says "not set".
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(set);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new Error(problems.join('; '));
  }
  const env = parsed.data;
  return {
    host: env.SIMULATOR_HOST,
    port: env.SIMULATOR_PORT,
    options: {
      stateFile: env.SIMULATOR_STATE,
      timeScale: env.TIME_SCALE,
      refreshGraceSeconds: env.SIMULATOR_REFRESH_GRACE_SECONDS,
      apps: {
        strava: {
          clientId: env.STRAVA_CLIENT_ID,
          clientSecret: env.STRAVA_CLIENT_SECRET,
          signingSecret: env.STRAVA_SIGNING_SECRET,
          athleteCapacity: env.STRAVA_ATHLETE_CAPACITY,
        },
        oura: {
          clientId: env.OURA_CLIENT_ID,
          clientSecret: env.OURA_CLIENT_SECRET,
          athleteCapacity: env.OURA_ATHLETE_CAPACITY,
        },
        whoop: { clientId: env.WHOOP_CLIENT_ID, clientSecret: env.WHOOP_CLIENT_SECRET },
      },
    },
  };
}
