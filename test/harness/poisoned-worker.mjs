// A worker whose processor kills the process that it runs in, as one does that takes all its memory.
import 'reflect-metadata';
import { DataSource } from 'typeorm';

const dist = (file) => import(new URL(`../../dist/libs/${file}`, import.meta.url).href);
const { ConfigSnapshots, Runs } = await dist('jobs/src/index.js');
const { JobNotifications } = await dist('jobs/src/worker/job-notifications.js');
const { JobWorker } = await dist('jobs/src/worker/job-worker.js');
const { workerSettings } = await dist('jobs/src/worker/worker-settings.js');
const { createLogger, Database, timeScale } = await dist('platform/src/index.js');
const { dataSourceOptions } = await dist('platform/src/database/data-source-options.js');

const url = process.argv[2];
const limits = { applicationName: 'poisoned', poolSize: 2, statementTimeoutMs: 5_000 };
const database = new Database(await new DataSource(dataSourceOptions(url, limits, () => {})).initialize());
const logger = createLogger({ level: 'silent', process: 'poisoned' });
const poison = { name: 'poison', process: () => process.kill(process.pid, 'SIGKILL') };

new JobWorker(
  new Runs(database),
  new ConfigSnapshots(database),
  new JobNotifications(url, logger),
  poison,
  { ...workerSettings(timeScale(1)), concurrency: 1 },
  logger,
).start();
