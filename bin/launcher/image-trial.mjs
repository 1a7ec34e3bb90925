// Starts the processes of the image against real servers, and checks what an operator relies on.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { IMAGE_FOLDER } from './buildah.mjs';
import { Container } from './container.mjs';
import { inRoot, readJson } from './files.mjs';
import { anyFreePort } from './ports.mjs';
import { ensureSecrets } from './secrets.mjs';
import { startThrowAwayServers } from './servers.mjs';
import { Failure, step } from './terminal.mjs';

/** Fails with the first thing that does not work. */
export async function tryImage(children, runc, { root, config }) {
  checkContents(path.join(root, 'app'), config.Labels ?? {});
  const env = await environment(children);
  const container = (name, args, own = {}) =>
    new Container(children, {
      runc,
      folder: IMAGE_FOLDER,
      root,
      name,
      config,
      args,
      env: { ...env, ...own },
    });

  await step('migrating with the image', async () => {
    const migrate = container('migrate', ['node', 'dist/libs/platform/src/database/migrate.main.js', 'up']);
    const { code, output } = await migrate.run();
    check(code === 0, `the migration failed:\n${output}`);
  });
  const api = container('api', config.Cmd, healthAt(env.PORT));
  const worker = container('worker', ['node', 'dist/apps/worker/src/main.js'], {
    ...healthAt(env.WORKER_PORT),
    METRICS_PORT: String(await anyFreePort()),
  });
  await step('starting api and worker from the image', () => Promise.all([api.start(), worker.start()]));
  await step('checking them', async () => {
    await checkAnswers(env);
    await checkIsolation(api);
    await checkTools(api, env);
  });
  await step('stopping them', async () => {
    const codes = await Promise.all([api.stop(), worker.stop()]);
    check(
      codes.every((code) => code === 0),
      `api and worker exited with ${codes.join(' and ')}`,
    );
  });
}

// The build needs these, or makes them from folders that .dockerignore leaves out. The running product does not need them.
const ABSENT = ['node_modules/typescript', 'dist/bench', 'dist/test', 'dist/examples'];

/** Checks the labels, the licence, and that the image has nothing of the build and of the tests. */
function checkContents(app, labels) {
  const { version, license } = readJson(path.join(app, 'package.json'));
  for (const [name, wanted] of Object.entries({ version, licenses: license, title: 'Pacekeeper' })) {
    const label = labels[`org.opencontainers.image.${name}`];
    check(label === wanted, `its label ${name} is ${label} instead of ${wanted}`);
  }
  const licence = path.join(app, 'LICENSE');
  const hasLicence =
    existsSync(licence) && readFileSync(licence, 'utf8') === readFileSync(inRoot('LICENSE'), 'utf8');
  check(hasLicence, 'it has no /app/LICENSE, or another text than LICENSE');
  for (const folder of ABSENT) check(!existsSync(path.join(app, folder)), `it has /app/${folder}`);
}

async function environment(children) {
  const urls = await startThrowAwayServers(children);
  const { JWT_SECRET, ENCRYPTION_KEYS, INGEST_API_KEYS } = ensureSecrets(path.join(IMAGE_FOLDER, 'secrets'));
  const [port, workerPort, metricsPort] = [await anyFreePort(), await anyFreePort(), await anyFreePort()];
  return {
    ...urls,
    ...{ JWT_SECRET, ENCRYPTION_KEYS, INGEST_API_KEYS },
    JWT_ISSUER: 'https://login.example',
    JWT_AUDIENCE: 'pacekeeper',
    PUBLIC_URL: 'https://pacekeeper.example',
    PORT: String(port),
    WORKER_PORT: String(workerPort),
    METRICS_PORT: String(metricsPort),
  };
}

const healthAt = (port) => ({ HEALTH_URL: `http://127.0.0.1:${port}/health/live` });

async function checkAnswers({ PORT, WORKER_PORT, METRICS_PORT }) {
  const wanted = [
    [PORT, '/health/ready', '"status":"ok"'],
    [WORKER_PORT, '/health/ready', '"status":"ok"'],
    [PORT, '/console', '<div id='],
    [PORT, '/docs', '<html'],
    [METRICS_PORT, '/metrics', 'pacekeeper_build_info'],
  ];
  for (const [port, route, text] of wanted) {
    const answer = await fetch(`http://127.0.0.1:${port}${route}`);
    const body = await answer.text();
    check(answer.ok && body.includes(text), `${route} answered ${answer.status}: ${body.slice(0, 500)}`);
  }
}

async function checkIsolation(container) {
  const id = await container.exec('id', '-u');
  check(id.output.trim() === '1000', `the process runs as user ${id.output}`);
  const write = await container.exec('touch', '/app/file');
  check(/Read-only file system/.test(write.output), `/app can be written: ${write.output}`);
  const temporary = await container.exec('touch', '/tmp/file');
  check(temporary.code === 0, `/tmp cannot be written: ${temporary.output}`);
}

/** The tools that README.md promises in the image. */
async function checkTools(container, { PORT }) {
  const token = await container.exec('npm', 'run', '--silent', 'token', '--', '--athlete', randomUUID());
  const authorization = `Bearer ${token.output.trim().split('\n').at(-1)}`;
  const me = await fetch(`http://127.0.0.1:${PORT}/v1/me`, { headers: { authorization } });
  check(me.ok, `npm run token made a token that gets ${me.status}: ${token.output}`);
  for (const tool of [['migrate'], ['rotate-keys'], ['key', '--', '--name', 'trial', '--scopes', 'read']]) {
    const { code, output } = await container.exec('npm', 'run', ...tool);
    check(code === 0, `npm run ${tool[0]} failed in the image:\n${output}`);
  }
}

function check(isRight, problem) {
  if (!isRight) throw new Failure(`The image does not work: ${problem}`);
}
