// npm test [-- jest arguments]: runs the tests with throw-away servers and a browser.
import './launcher/node-version.mjs';
import path from 'node:path';
import { ensureBuilt } from './launcher/build.mjs';
import { runTests } from './launcher/jest.mjs';
import { lastRelease } from './launcher/last-release.mjs';
import { browserIn, optionalIn, programsFor } from './launcher/programs.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { run } from './launcher/run.mjs';
import { startThrowAwayServers } from './launcher/servers.mjs';
import { Failure } from './launcher/terminal.mjs';
import { clusterNats, dockerCompose, kubectls } from './launcher/test-programs.mjs';

await run(async ({ args, children }) => {
  await ensurePackages(children);
  // The list has the servers' programs too, so that one apt-get installs all missing programs.
  const CHROMIUM_PATH = browserIn(await programsFor(['chromium', 'postgres', 'redis', 'nats'], children));
  // Each of these is installed separately, so that a distribution without one still gets the other programs.
  const PGBOUNCER_PATH = optionalIn('pgbouncer', await programsFor(['pgbouncer'], children));
  const PROMETHEUS_PATH = optionalIn('prometheus', await programsFor(['prometheus'], children));
  const NATS_CLUSTER_PATH = await clusterNats(children);
  const KUBECTL_PATHS = (await kubectls(children)).join(path.delimiter);
  const COMPOSE_PATH = await dockerCompose(children);
  const LAST_RELEASE_PATH = await lastRelease(children);
  const urls = await startThrowAwayServers(children);
  await ensureBuilt(children);

  const env = {
    ...process.env,
    ...urls,
    CHROMIUM_PATH,
    PGBOUNCER_PATH,
    PROMETHEUS_PATH,
    NATS_CLUSTER_PATH,
    KUBECTL_PATHS,
    COMPOSE_PATH,
    LAST_RELEASE_PATH,
  };
  const { code, counts, flaky, longest } = await runTests(children, args, { env });
  if (!counts) throw new Failure('jest ended without a report, so the results of the tests are unknown.');
  console.log('The longest files:');
  for (const { file, seconds } of longest) console.log(`${seconds.toFixed(1).padStart(6)} s  ${file}`);
  for (const line of flaky) console.log(`flaky: ${line}`);
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  const hasRunTests = counts.passed + counts.failed > 0;
  return hasRunTests ? code : code || 1;
});
