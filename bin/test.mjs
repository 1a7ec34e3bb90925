// npm test [-- jest arguments]: all tests, against servers and a browser of their own.
import './launcher/node-version.mjs';
import { ensureBuilt } from './launcher/build.mjs';
import { browserIn } from './launcher/chromium.mjs';
import { Failure } from './launcher/failure.mjs';
import { runJest } from './launcher/jest.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { run } from './launcher/run.mjs';
import { programsFor } from './launcher/servers.mjs';
import { startThrowAwayServers } from './launcher/throw-away-servers.mjs';

await run(async ({ args, children }) => {
  await ensurePackages(children);
  // The servers' programs too: one installation for all of them.
  const CHROMIUM_PATH = browserIn(await programsFor(['chromium', 'postgres', 'redis', 'nats'], children));
  const urls = await startThrowAwayServers(children);
  await ensureBuilt(children);

  const env = { ...process.env, ...urls, CHROMIUM_PATH };
  const { code, counts } = await runJest(children, args, { env });
  if (!counts) throw new Failure('jest ended without a report: nothing is known about the tests.');
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  const didSomething = counts.passed + counts.failed > 0;
  return didSomething ? code : code || 1;
});
