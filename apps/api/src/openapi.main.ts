import 'reflect-metadata';
import { readFileSync, writeFileSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpAdapter, createLogger, environment, SurroundingsModule, variablesOf } from '#platform';
import { loadProductConfig, VENDOR_SETTINGS } from '#vendors';
import { ApiModule } from './api.module.js';
import { configurationReference } from './openapi/configuration.js';
import { describeApi } from './openapi/document.js';

// Writes the documents that come from the code: docs/openapi.json and the configuration reference. With --check it only compares them with the
// code. It connects to no server: in preview mode Nest creates no provider, so the configuration only has to be well-formed.
const NOWHERE = {
  DATABASE_URL: 'postgres://localhost/none',
  REDIS_URL: 'redis://localhost',
  NATS_URL: 'nats://localhost',
  JWT_SECRET: 'x'.repeat(32),
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
};

const config = loadProductConfig(NOWHERE);
const surroundings = SurroundingsModule.with(config, createLogger({ level: 'silent', process: 'openapi' }));
const app = await NestFactory.create<NestFastifyApplication>(
  { module: ApiModule, imports: [surroundings] },
  createHttpAdapter([]),
  { preview: true, logger: false, abortOnError: false },
);
const documents = {
  'docs/openapi.json': `${JSON.stringify(describeApi(app, config.http.publicUrl), null, 2)}\n`,
  'docs/operations/configuration.md': configurationReference(readFileSync('.env.example', 'utf8'), {
    ...environment,
    ...variablesOf(VENDOR_SETTINGS),
  }),
};

for (const [file, text] of Object.entries(documents))
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${file} differs from the code: run \`npm run openapi\` and commit it`);
    process.exitCode = 1;
  }
