import 'reflect-metadata';
import { readFileSync, writeFileSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpAdapter, createLogger, loadConfig, SurroundingsModule } from '#platform';
import { ApiModule } from './api.module.js';
import { describeApi } from './openapi.js';

// Writes docs/openapi.json from the code, or with --check says whether it is current. Nothing is connected to: in
// preview no provider is made, so the configuration only has to be well-formed.
const FILE = 'docs/openapi.json';
const NOWHERE = {
  DATABASE_URL: 'postgres://localhost/none',
  REDIS_URL: 'redis://localhost',
  NATS_URL: 'nats://localhost',
  JWT_SECRET: 'x'.repeat(32),
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
};

const surroundings = SurroundingsModule.with(
  loadConfig(NOWHERE),
  createLogger({ level: 'silent', process: 'openapi' }),
);
const app = await NestFactory.create<NestFastifyApplication>(
  { module: ApiModule, imports: [surroundings] },
  createHttpAdapter([]),
  { preview: true, logger: false, abortOnError: false },
);
const text = `${JSON.stringify(describeApi(app), null, 2)}\n`;

if (!process.argv.includes('--check')) writeFileSync(FILE, text);
else if (readFileSync(FILE, 'utf8') !== text) {
  console.error(`${FILE} differs from the code: run \`npm run openapi\` and commit it`);
  process.exitCode = 1;
}
