// A process that asks for an access token, several times at once, each with a pool of its own. On stdin a line starts it;
// on stdout it tells what came of each. With `dieAfterAnswer` it kills itself between the vendor's answer and our storing it.
import 'reflect-metadata';
import { createInterface } from 'node:readline';
import { request } from 'undici';
import { DataSource } from 'typeorm';

const dist = (file) => import(new URL(`../../dist/libs/${file}`, import.meta.url).href);
const { createConnections } = await dist('connections/src/index.js');
const { createLogger, Database, loadConfig, timeScale } = await dist('platform/src/index.js');
const { dataSourceOptions } = await dist('platform/src/database/data-source-options.js');

const { env, athleteId, provider, instances, dieAfterAnswer, times } = JSON.parse(process.argv[2]);
const config = loadConfig(env);
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
  const database = new Database(dataSource);
  const surroundings = { config, database, http, timeScale: timeScale(config.timeScale), logger, times };
  return { dataSource, ...createConnections(surroundings) };
}

const all = await Promise.all(Array.from({ length: instances }, instance));
console.log('ready');
for await (const _ of createInterface(process.stdin)) break;
const ended = await Promise.all(
  all.map(({ connections }) =>
    connections.access(athleteId, provider).then(
      ({ token }) => ({ token }),
      ({ code }) => ({ code }),
    ),
  ),
);
console.log(JSON.stringify(ended));
await Promise.all(all.map(({ dataSource }) => dataSource.destroy()));
process.exit(0);
