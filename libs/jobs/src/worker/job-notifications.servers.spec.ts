import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from '@jest/globals';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { silent } from '../jobs.harness.js';
import { JobNotifications } from './job-notifications.js';

describe('job notifications', () => {
  let open: OpenDatabase;
  let proxy: Proxy;
  let notifications: JobNotifications;
  let rings: number;
  beforeAll(async () => {
    open = await openTestDatabase();
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    rings = 0;
    proxy = await Proxy.before(open.url);
    notifications = new JobNotifications(proxy.url, silent, { heartbeatMs: 50, answerWithinMs: 300 });
    notifications.start(() => (rings += 1));
    await eventually('it listens', () => rings > 0);
  });
  afterEach(async () => {
    await notifications.stop();
    await proxy.close();
  });

  const notify = () => open.database.query(`notify runtime_jobs`);
  const anotherRing = async () => {
    const before = rings;
    await eventually('it rings', () => rings > before);
  };

  it('ring when there is something', async () => {
    const ringing = anotherRing();
    await notify();
    await ringing;
  });

  it.each<[string, (proxy: Proxy) => void]>([
    ['half-open', (broken) => broken.forget()],
    ['cut', (broken) => broken.cut()],
    ['frozen for a while', (broken) => broken.freeze()],
  ])('come back from a link that is %s, and ring for what was missed', async (how, breakIt) => {
    breakIt(proxy);
    await notify();
    if (how !== 'half-open') proxy.heal();
    await anotherRing();
    const ringing = anotherRing();
    await notify();
    await ringing;
  });

  it('stop, whatever their link is like', async () => {
    proxy.freeze();
    await notifications.stop();
  });
});
