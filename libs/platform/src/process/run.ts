import { networkInterfaces } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AccessCheck } from '../auth/auth.module.js';
import { type Config, redactConfig } from '../config/config.js';
import { ConfigInvalid } from '../config/load-config.js';
import { DependencyUnavailable } from '../errors/app-error.js';
import { isPostgresAway, isRedisAway } from '../errors/dependency-failure.js';
import { HealthRegistry } from '../health/health-registry.js';
import { checkRequestsWithBodies } from '../http/before-body.js';
import { enforceDeadline } from '../http/deadline.js';
import { closeConnectionsWhile, type Running, Stopping, watchForUnexpected } from './stopping.js';
import { RouteTable } from '../http/methods.js';
import { observeRequests } from '../http/observe-requests.js';
import { secureHeaders } from '../http/secure-headers.js';
import { createHttpAdapter, type RewriteUrl } from '../http/server.js';
import { createLogger, type Logger, NestLogger } from '../logging/logger.js';
import { natsFailure } from '../nats/connect.js';
import { startTracing } from '../tracing/tracing.js';
import { buildInfo } from '../version/build-info.js';
import { checkServers, ServersUnfit } from './check-servers.js';
import { createMetricsServer } from './metrics-port.js';
import { reasonOf, ServerUnfit } from './server-failure.js';
import { SurroundingsModule } from './surroundings.module.js';

/** A part of the product that can run as a process, such as api or worker. Several roles may share a process. */
export interface Role {
  readonly name: string;
  readonly module: Type;
  port(config: Config): number;
  /** Adds routes, hooks and body parsers that Nest's modules cannot declare. */
  prepare?(app: NestFastifyApplication, config: Config): Promise<void> | void;
  readonly rewriteUrl?: RewriteUrl;
}

const CLOSE_AFTER_FAILURE_MS = 2_000;

/** The address or port cannot be used; the message names it. */
class CannotListen extends Error {
  override readonly name = 'CannotListen';
}

/**
 * Starts the roles with the configuration that `load` reads from the environment, and stops them on SIGTERM or SIGINT. If the start fails,
 * prints the reason and exits with code 1.
 */
export async function run(load: (env: NodeJS.ProcessEnv) => Config, ...roles: Role[]): Promise<void> {
  const name = roles.map((role) => role.name).join('+');
  const apps: NestFastifyApplication[] = [];
  try {
    const config = load(process.env);
    const logger = createLogger({
      level: config.logLevel,
      process: name,
      traced: Boolean(config.tracing.endpoint),
    });
    logger.info({ ...buildInfo, config: redactConfig(config) }, 'starting');
    for (const warning of config.warnings) logger.warn(warning);
    const tracing = await startTracing(config.tracing.endpoint, `pacekeeper-${name}`);
    const running = { apps, tracing, logger, delayMs: config.http.shutdownDelaySeconds * 1_000 };
    const stopping = new Stopping(running);
    // The handlers are registered before the wait for servers. Without a handler, process 1 of a container would ignore SIGTERM during this
    // wait.
    stopOnSignal(stopping);
    watchForUnexpected(logger, () => stopping.onException());
    await checkServers(config, logger);
    for (const role of roles) apps.push(await create(role, config, running));
    const host = config.http.host ?? anyAddress();
    for (const [index, role] of roles.entries())
      await listening(host, role.port(config), (port) => apps[index]?.listen(port, host));
    const metricsUrl = await serveMetrics(config, host, logger);
    logger.info(
      { urls: await Promise.all(apps.map((app) => app.getUrl())), metrics_url: metricsUrl },
      'ready',
    );
  } catch (error) {
    console.error(`${name} cannot start: ${reasonForOperator(error)}`);
    // A frozen server may never close the connection.
    await Promise.race([Promise.allSettled(apps.map((app) => app.close())), pause(CLOSE_AFTER_FAILURE_MS)]);
    process.exit(1);
  }
}

async function create(
  role: Role,
  config: Config,
  { logger }: Pick<Running, 'logger'>,
): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: role.module, imports: [SurroundingsModule.with(config, logger)] },
    createHttpAdapter(config.http.trustProxy, role.rewriteUrl),
    { logger: new NestLogger(logger), abortOnError: false, bodyParser: false },
  );
  const server = app.getHttpAdapter().getInstance();
  const routes = new RouteTable(server);
  secureHeaders(server);
  observeRequests(server, logger, config.logReadsEvery);
  const [health, accessCheck] = [app.get(HealthRegistry), app.get(AccessCheck, { strict: false })];
  closeConnectionsWhile(() => health.isDraining(), server);
  enforceDeadline(server, logger);
  await role.prepare?.(app, config);
  // After the role's hooks, which set headers that a refusal needs as well.
  checkRequestsWithBodies(server, {
    admit: (request, reply, needed) => accessCheck.admit(request, reply, needed),
    find: (check) => app.get(check, { strict: false }),
  });
  await app.init();
  routes.answerOtherMethods();
  logger.debug({ routes: routes.all() }, 'routes');
  return app;
}

/** Listens. Replaces the common errors by an error that names the port or address. */
async function listening<T>(
  host: string,
  port: number,
  listen: (port: number) => Promise<T> | undefined,
): Promise<T | undefined> {
  try {
    return await listen(port);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new CannotListen(`port ${port} is already in use`, { cause });
    if (code === 'EADDRNOTAVAIL')
      throw new CannotListen(`HOST ${host} is not an address of this machine`, { cause });
    if (code === 'EACCES') throw new CannotListen(`port ${port} needs privileges`, { cause });
    throw cause;
  }
}

/** Serves metrics on METRICS_PORT if it is set; returns the URL. */
async function serveMetrics({ http }: Config, host: string, logger: Logger): Promise<string | undefined> {
  if (http.metricsPort === undefined) return undefined;
  const server = createMetricsServer(logger);
  return listening(host, http.metricsPort, (port) => server.listen({ port, host }));
}

/** `::` accepts IPv4 connections as well, but not every machine has IPv6. */
function anyAddress(): string {
  const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ family }) => family === 'IPv6'),
  );
  return hasIpv6 ? '::' : '0.0.0.0';
}

function stopOnSignal(stopping: Stopping): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.onSignal(signal));
}

const EXPECTED = [ConfigInvalid, ServersUnfit, ServerUnfit, CannotListen];

/** Returns the message of an expected error, the reason if a server stopped answering, and the stack of any other error. */
function reasonForOperator(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (EXPECTED.some((kind) => error instanceof kind)) return error.message;
  if (isServerAway(error)) return `a server stopped answering during the start: ${reasonOf(error)}`;
  return error.stack ?? error.message;
}

const isServerAway = (error: unknown): boolean =>
  isPostgresAway(error) || isRedisAway(error) || natsFailure(error) instanceof DependencyUnavailable;
