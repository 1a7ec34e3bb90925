import { type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Config } from '../config/config.js';
import { ConfigInvalid, loadConfig } from '../config/load-config.js';
import { redactConfig } from '../config/redact-config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { enforceDeadline } from '../http/deadline.js';
import { observeRequests } from '../http/observe-requests.js';
import { secureHeaders } from '../http/secure-headers.js';
import { createHttpAdapter, type RewriteUrl } from '../http/server.js';
import { createLogger, type Logger } from '../logging/logger.js';
import { NestLogger } from '../logging/nest-logger.js';
import { startTracing, type Tracing } from '../tracing/tracing.js';
import { checkServers, ServersUnfit } from './check-servers.js';
import { SurroundingsModule } from './surroundings.module.js';

/** One of the things this product is when it runs. Several may share a process. */
export interface Role {
  readonly name: string;
  readonly module: Type;
  port(config: Config): number;
  /** Routes that Nest's modules cannot declare. */
  prepare?(app: NestFastifyApplication): Promise<void> | void;
  readonly rewriteUrl?: RewriteUrl;
}

// Kubernetes kills after 30 s by default; we are gone before that. What is still connected after 15 s is cut.
const IDLE_CHECK_MS = 100;
const CUT_CONNECTIONS_MS = 15_000;
const SHUTDOWN_DEADLINE_MS = 25_000;

/** A port is not ours to take: the one thing to tell is which. */
class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

interface Running {
  readonly apps: NestFastifyApplication[];
  readonly tracing: Tracing;
  readonly logger: Logger;
}

/** Starts the roles and stops them on SIGTERM or SIGINT. What prevents the start is told in a sentence, exit code 1. */
export async function run(...roles: Role[]): Promise<void> {
  const name = roles.map((role) => role.name).join('+');
  const apps: NestFastifyApplication[] = [];
  try {
    const config = loadConfig(process.env);
    const logger = createLogger({
      level: config.logLevel,
      process: name,
      traced: Boolean(config.tracing.endpoint),
    });
    logger.info({ config: redactConfig(config) }, 'starting');
    await checkServers(config, logger);
    const tracing = await startTracing(config.tracing.endpoint, `pacekeeper-${name}`);
    const running = { apps, tracing, logger };
    // Before anything listens: as the first process of a container we would otherwise be deaf to a stop while we start.
    stopOnSignal(running);
    for (const role of roles) apps.push(await create(role, config, running));
    for (const [index, role] of roles.entries()) await listen(apps[index], role.port(config));
    logger.info({ urls: await Promise.all(apps.map((app) => app.getUrl())) }, 'ready');
  } catch (error) {
    console.error(`${name} cannot start: ${sentence(error)}`);
    await Promise.allSettled(apps.map((app) => app.close()));
    process.exit(1);
  }
}

async function create(
  role: Role,
  config: Config,
  { logger, tracing }: Running,
): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: role.module, imports: [SurroundingsModule.with(config, logger)] },
    createHttpAdapter(config.http.trustProxy, role.rewriteUrl),
    { logger: new NestLogger(logger), abortOnError: false, bodyParser: false },
  );
  const server = app.getHttpAdapter().getInstance();
  secureHeaders(server);
  observeRequests(server, logger, tracing.enabled);
  enforceDeadline(server);
  await role.prepare?.(app);
  return app;
}

async function listen(app: NestFastifyApplication | undefined, port: number): Promise<void> {
  try {
    await app?.listen(port, '0.0.0.0');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause;
    throw new PortTaken(`port ${port} is already in use`, { cause });
  }
}

function stopOnSignal(running: Running): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      void shutDown(signal, running);
    });
}

/** Not ready, then no new connections, then work in hand finished, then the connections to our servers closed. */
async function shutDown(signal: NodeJS.Signals, { apps, tracing, logger }: Running): Promise<void> {
  logger.info({ signal }, 'stopping');
  // A connection kept alive after the answer to its last request would hold the server open for longer than we have.
  setInterval(() => apps.forEach((app) => app.getHttpServer().closeIdleConnections()), IDLE_CHECK_MS).unref();
  setTimeout(
    () => apps.forEach((app) => app.getHttpServer().closeAllConnections()),
    CUT_CONNECTIONS_MS,
  ).unref();
  setTimeout(() => {
    logger.error('could not stop in time');
    logger.flush(() => process.exit(1));
  }, SHUTDOWN_DEADLINE_MS).unref();
  for (const app of apps) app.get(HealthRegistry).drain();
  const closed = await Promise.allSettled(apps.map((app) => app.close()));
  // Last, or the spans of what was finished meanwhile would be lost.
  closed.push(...(await Promise.allSettled([tracing.stop()])));
  const failures = closed.filter((result) => result.status === 'rejected');
  for (const { reason } of failures) logger.error({ err: reason as unknown }, 'could not close');
  logger.info('stopped');
  logger.flush(() => process.exit(failures.length > 0 ? 1 : 0));
}

const EXPECTED = [ConfigInvalid, ServersUnfit, PortTaken];

function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return EXPECTED.some((kind) => error instanceof kind) ? error.message : (error.stack ?? error.message);
}
