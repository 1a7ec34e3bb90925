import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from '@jest/globals';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { silent } from '../processing.harness.js';
import { JobNotifications } from './job-notifications.js';

describe('JobNotifications', () => {
  let open: OpenDatabase;
  let proxy: Proxy;
  let notifications: JobNotifications;
  let wakeUps: number;
  beforeAll(async () => {
    open = await openTestDatabase();
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    wakeUps = 0;
    proxy = await Proxy.before(open.url);
    notifications = new JobNotifications(proxy.url, silent, { heartbeatMs: 50, answerWithinMs: 300 });
    notifications.start(() => (wakeUps += 1));
    await eventually('the subscription', () => wakeUps > 0);
  });
  afterEach(async () => {
    await notifications.stop();
    await proxy.close();
  });

  const notify = () => open.database.query(`notify runtime_jobs`);
  const anotherWakeUp = async () => {
    const before = wakeUps;
    await eventually('a wake-up', () => wakeUps > before);
  };

  it('a job notification wakes the worker', async () => {
    const waking = anotherWakeUp();
    await notify();
    await waking;
  });

  it.each<[string, (proxy: Proxy) => void]>([
    ['half-open', (broken) => broken.forget()],
    ['cut', (broken) => broken.cut()],
    ['frozen for a while', (broken) => broken.freeze()],
  ])(
    'job notifications reconnect when their connection is %s, and then wake the worker for missed notifications',
    async (how, breakIt) => {
      breakIt(proxy);
      await notify();
      if (how !== 'half-open') proxy.heal();
      await anotherWakeUp();
      const waking = anotherWakeUp();
      await notify();
      await waking;
    },
  );

  it('job notifications can be stopped while their connection is frozen', async () => {
    proxy.freeze();
    await notifications.stop();
  });
});
