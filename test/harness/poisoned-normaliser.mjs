// A worker of the sleep pipeline that is killed while it stores a night of one user, as by a night that uses up the memory. Nights of other
// users take `innocentMs`, and the deadly one half of it, so that a night beside the deadly one is not stored before.
import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { DataSource } from 'typeorm';

const dist = (file) => import(new URL(`../../dist/libs/${file}`, import.meta.url).href);
const { SleepConsumer } = await dist('sleep/src/normalise/sleep-consumer.js');
const { SleepStore } = await dist('sleep/src/normalise/sleep-store.js');
const platform = await dist('platform/src/index.js');
const { connectNats, watchLink } = await dist('platform/src/nats/connect.js');
const { dataSourceOptions } = await dist('platform/src/database/data-source-options.js');

const [, , databaseUrl, natsUrl, deadly, innocentMs = '2000'] = process.argv;
const limits = { applicationName: 'poisoned', poolSize: 4, statementTimeoutMs: 5_000 };
const dataSource = await new DataSource(dataSourceOptions(databaseUrl, limits, () => {})).initialize();
const connection = await connectNats(natsUrl, 'poisoned');
const link = watchLink(connection);

class PoisonedStore extends SleepStore {
  async save(sessions) {
    if (sessions.some(({ userId }) => userId === deadly)) {
      await pause(innocentMs / 2);
      process.kill(process.pid, 'SIGKILL');
    }
    await pause(Number(innocentMs));
    return super.save(sessions);
  }
}

new SleepConsumer(
  new PoisonedStore(new platform.Database(platform.poolOf(dataSource))),
  new platform.EventBus(connection, link),
  new platform.DeadLetters(connection, link),
  connection,
  platform.createLogger({ level: 'silent', process: 'poisoned' }),
  new platform.HealthRegistry(),
  { nats: { urls: [], replicas: 1, dlqRetentionDays: 7 } },
).onApplicationBootstrap();
