// A worker whose processor kills the process at some activities, like runs that use up the memory. A first run of another activity never
// ends, so that it still runs when its worker is killed. A later run succeeds at once.
import 'reflect-metadata';
import { DataSource } from 'typeorm';

const dist = (file) => import(new URL(`../../dist/libs/${file}`, import.meta.url).href);
const { ConfigSnapshots, Runs } = await dist('processing/src/index.js');
const { JobNotifications } = await dist('processing/src/worker/job-notifications.js');
const { JobWorker } = await dist('processing/src/worker/job-worker.js');
const { workerSettings } = await dist('processing/src/worker/worker-settings.js');
const { createLogger, Database, poolOf, timeScale } = await dist('platform/src/index.js');
const { dataSourceOptions } = await dist('platform/src/database/data-source-options.js');

const [, , url, ...poisons] = process.argv;
const limits = { applicationName: 'poisoned', poolSize: 2, statementTimeoutMs: 5_000 };
const dataSource = await new DataSource(dataSourceOptions(url, limits, () => {})).initialize();
const database = new Database(poolOf(dataSource));
const logger = createLogger({ level: 'silent', process: 'poisoned' });
const forever = () => new Promise(() => {});
const processor = {
  name: 'poison',
  process: ({ activityId, attempt }) => {
    if (poisons.includes(activityId)) process.kill(process.pid, 'SIGKILL');
    return attempt === 1 ? forever() : Promise.resolve({ result: {} });
  },
};

new JobWorker(
  new Runs(database),
  new ConfigSnapshots(database),
  new JobNotifications(url, logger),
  processor,
  { ...workerSettings(timeScale(1)), concurrency: 16 },
  logger,
).start();
