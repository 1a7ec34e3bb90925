import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { createToolLogger, Database, DatabaseModule, HealthModule, SurroundingsModule } from '#platform';
import { loadProductConfig } from '#vendors';
import { rotateKeys } from './rotate-keys.js';
import { Vault } from './vault.js';

// Only these variables are used here; the configuration requires that the others are well-formed.
const { DATABASE_URL, DATABASE_DIRECT_URL, ENCRYPTION_KEYS, START_WAIT_SECONDS } = process.env;
const unused = { REDIS_URL: 'redis://unused', NATS_URL: 'nats://unused', JWT_SECRET: 'unused'.repeat(6) };
const LIMITS = { applicationName: 'pacekeeper-rotate-keys', poolSize: 1, statementTimeoutMs: 30_000 };

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`rotate-keys: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  const variables = { DATABASE_URL, DATABASE_DIRECT_URL, ENCRYPTION_KEYS, START_WAIT_SECONDS };
  const config = loadProductConfig({ ...unused, ...variables });
  const vault = new Vault(config.encryptionKeys);
  const logger = createToolLogger('rotate-keys');
  const imports = [SurroundingsModule.with(config, logger), HealthModule, DatabaseModule.with(LIMITS, [])];
  const app = await NestFactory.createApplicationContext(
    { module: class RotateKeys {}, imports },
    { logger: false, abortOnError: false },
  );
  try {
    const { resealed, unreadable } = await rotateKeys(app.get(Database), vault);
    console.log(`${resealed} rows encrypted anew with key ${vault.keyVersion}`);
    if (unreadable === 0) return 0;
    console.error(`${unreadable} rows cannot be read: is an older key missing in ENCRYPTION_KEYS?`);
    return 1;
  } finally {
    await app.close();
  }
}
