// A process that requests an access token several times at once, each time with a database pool of its own. A line on stdin starts the
// requests; stdout gets the outcomes. With `dieAfterAnswer` the process kills itself between the vendor's answer and its storage.
import 'reflect-metadata';
import { createInterface } from 'node:readline';
import { request } from 'undici';
import { DataSource } from 'typeorm';

const dist = (file) => import(new URL(`../../dist/libs/${file}`, import.meta.url).href);
const { createConnections } = await dist('connections/src/index.js');
const { createLogger, Database, HealthRegistry, poolOf, timeScale, Workers } =
  await dist('platform/src/index.js');
const { loadProductConfig } = await dist('vendors/src/index.js');
const { dataSourceOptions } = await dist('platform/src/database/data-source-options.js');

const { env, athleteId, provider, instances, dieAfterAnswer, times } = JSON.parse(process.argv[2]);
const config = loadProductConfig(env);
const logger = createLogger({ level: 'silent', process: 'refresher' });

const http = {
  async call({ method, url, headers, body, signal }) {
    const answer = await request(url, { method, headers, body, signal });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    if (dieAfterAnswer) process.kill(process.pid, 'SIGKILL');
    return {
      kind: 'answered',
      answer: { status: answer.statusCode, headers: answer.headers, body: bytes },
    };
  },
};

async function instance() {
  const limits = { applicationName: 'refresher', poolSize: 2, statementTimeoutMs: 5_000 };
  const dataSource = await new DataSource(
    dataSourceOptions(config.database.url, limits, () => {}),
  ).initialize();
  const database = new Database(poolOf(dataSource));
  const scale = timeScale(config.timeScale);
  const workers = new Workers(new HealthRegistry(), scale, logger);
  const dependencies = { config, database, http, workers, timeScale: scale, logger, times };
  return { dataSource, ...createConnections(dependencies) };
}

const all = await Promise.all(Array.from({ length: instances }, instance));
console.log('ready');
for await (const _ of createInterface(process.stdin)) break;
const outcomes = await Promise.all(all.map(({ tokens }) => tokens.access(athleteId, provider)));
console.log(JSON.stringify(outcomes));
await Promise.all(all.map(({ dataSource }) => dataSource.destroy()));
process.exit(0);
