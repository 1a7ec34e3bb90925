import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { NestFactory } from '@nestjs/core';
import {
  createToolLogger,
  Database,
  DatabaseModule,
  HealthModule,
  OperatorActions,
  SurroundingsModule,
} from '#platform';
import { loadProductConfig } from '#vendors';
import { isWellFormedKey, KEY_SCOPES, ServiceKeys } from './service-keys.js';

const USAGE = `usage: key --name NAME --scopes ${KEY_SCOPES.join(',')}   (DATABASE_URL names the database)`;
const ACTOR = 'npm run key';
const REVOKED = 2;

// SERVICE_KEY is the key that `npm start` keeps between its runs. If the database lacks this key, it is stored. Only these variables are used
// here; the configuration requires that the others are well-formed.
const { SERVICE_KEY, DATABASE_URL, DATABASE_DIRECT_URL, START_WAIT_SECONDS } = process.env;
const unused = {
  REDIS_URL: 'redis://unused',
  NATS_URL: 'nats://unused',
  JWT_SECRET: 'unused'.repeat(6),
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
};
const LIMITS = { applicationName: 'pacekeeper-key', poolSize: 1, statementTimeoutMs: 30_000 };

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`key: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

async function main(args: string[]): Promise<number> {
  const wanted = wantedKey(args);
  const config = loadProductConfig({ ...unused, DATABASE_URL, DATABASE_DIRECT_URL, START_WAIT_SECONDS });
  const logger = createToolLogger('key');
  const imports = [SurroundingsModule.with(config, logger), HealthModule, DatabaseModule.with(LIMITS, [])];
  const app = await NestFactory.createApplicationContext(
    { module: class CreateKey {}, imports },
    { logger: false, abortOnError: false },
  );
  try {
    const database = app.get(Database);
    const keys = new ServiceKeys(database, new OperatorActions(database), logger);
    const state = SERVICE_KEY === undefined ? 'unknown' : await keys.stateOf(SERVICE_KEY);
    if (state === 'active') return 0;
    if (state === 'revoked') return REVOKED;
    const { id, key } = await keys.create({ ...wanted, actor: ACTOR, key: SERVICE_KEY });
    console.log(`service key ${id} "${wanted.name}" with the scopes ${wanted.scopes.join(', ')}`);
    console.log('The key is shown only now:');
    console.log(key);
    return 0;
  } finally {
    await app.close();
  }
}

function wantedKey(args: string[]): { readonly name: string; readonly scopes: readonly string[] } {
  const { name, scopes } = argumentsIn(args);
  if (!name?.trim()) throw new Error(`--name is missing. ${USAGE}`);
  if (name.length > 100) throw new Error('--name must have at most 100 characters');
  const wanted = new Set((scopes ?? '').split(',').map((scope) => scope.trim()));
  const known: readonly string[] = KEY_SCOPES;
  const unknown = [...wanted].filter((scope) => !known.includes(scope));
  if (!scopes || unknown.length > 0)
    throw new Error(
      `--scopes must be a comma list of ${KEY_SCOPES.join(', ')}${scopes ? `, not "${unknown.join(',')}"` : ''}. ${USAGE}`,
    );
  if (SERVICE_KEY !== undefined && !isWellFormedKey(SERVICE_KEY))
    throw new Error('SERVICE_KEY is not a service key');
  return { name, scopes: [...wanted] };
}

function argumentsIn(args: string[]): { readonly name?: string; readonly scopes?: string } {
  try {
    return parseArgs({ args, options: { name: { type: 'string' }, scopes: { type: 'string' } } }).values;
  } catch (cause) {
    throw new Error(`${cause instanceof Error ? cause.message : String(cause)}. ${USAGE}`, { cause });
  }
}
