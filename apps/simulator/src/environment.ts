import { z } from 'zod';
import { type VendorApp, VENDORS_WITH_ATHLETES } from './core/index.js';
import { type SimulatorOptions } from './simulator.js';

const Port = z.coerce.number().int().min(0).max(65_535);
const Environment = z.object({
  NODE_ENV: z.string().optional(),
  ALLOW_UNSAFE: z.string().optional(),
  SIMULATOR_HOST: z.string().default('127.0.0.1'),
  SIMULATOR_PORT: Port.default(4010),
  APP_NAME: z.string().optional(),
  TIME_SCALE: z.coerce.number().positive().default(1),
  SIMULATOR_STATE: z.string().optional(),
  SIMULATOR_REFRESH_GRACE_SECONDS: z.coerce.number().min(0).default(0),
});

/** The variables of a vendor's app. A prefix names the vendor: `STRAVA_CLIENT_ID`. */
const AppVariables = z.object({
  CLIENT_ID: z.string().optional(),
  CLIENT_SECRET: z.string().optional(),
  SIGNING_SECRET: z.string().optional(),
  ATHLETE_CAPACITY: z.coerce.number().int().positive().optional(),
});

interface Configuration {
  readonly host: string;
  readonly port: number;
  readonly options: SimulatorOptions;
}

/** Throws one error that lists every problem. */
export function readEnvironment(environment: NodeJS.ProcessEnv): Configuration {
  // A compose file sets a variable to an empty text if the variable is not set.
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const problems: string[] = [];
  const env = parsed(Environment, set, '', problems);
  const apps = Object.fromEntries(
    VENDORS_WITH_ATHLETES.map((vendor) => {
      const prefix = `${vendor.toUpperCase()}_`;
      const names = Object.keys(AppVariables.shape);
      const own = Object.fromEntries(names.map((name) => [name, set[`${prefix}${name}`]]));
      return [vendor, appOf(parsed(AppVariables, own, prefix, problems))] as const;
    }),
  );
  if (!env || problems.length > 0) throw new Error(problems.join('; '));
  // Anyone who reaches the simulator can change it under /__sim, so it must not run beside a real deployment by mistake.
  if (env.NODE_ENV === 'production' && env.ALLOW_UNSAFE !== '1')
    throw new Error(
      'NODE_ENV: the simulator has open controls; under production it starts only with ALLOW_UNSAFE=1',
    );
  return {
    host: env.SIMULATOR_HOST,
    port: env.SIMULATOR_PORT,
    options: {
      appName: env.APP_NAME,
      stateFile: env.SIMULATOR_STATE,
      timeScale: env.TIME_SCALE,
      refreshGraceSeconds: env.SIMULATOR_REFRESH_GRACE_SECONDS,
      apps,
    },
  };
}

/** Returns the parsed values. If a value is wrong, adds its problem to `problems`, under the full name of the variable, and returns undefined. */
function parsed<Schema extends z.ZodType>(
  schema: Schema,
  values: Readonly<Record<string, string | undefined>>,
  prefix: string,
  problems: string[],
): z.output<Schema> | undefined {
  const { data, error } = schema.safeParse(values);
  for (const { path, message } of error?.issues ?? [])
    problems.push(`${prefix}${path.join('.')}: ${message}`);
  return data;
}

function appOf(variables: z.output<typeof AppVariables> | undefined): VendorApp {
  return {
    clientId: variables?.CLIENT_ID,
    clientSecret: variables?.CLIENT_SECRET,
    signingSecret: variables?.SIGNING_SECRET,
    athleteCapacity: variables?.ATHLETE_CAPACITY,
  };
}
