export { Admin, Public, requestOf, type AuthenticatedRequest } from './auth/access.js';
export { OperatorActions } from './audit/operator-actions.js';
export { AuthModule } from './auth/auth.module.js';
export { athleteIdOf, type Caller, type Role as CallerRole } from './auth/caller.js';
export { Clock, SystemClock } from './clock/clock.js';
export { timeScale, type TimeScale } from './clock/time-scale.js';
export { type Config, type VendorConfig } from './config/config.js';
export { ConfigInvalid, loadConfig } from './config/load-config.js';
export { DatabaseModule } from './database/database.module.js';
export { Database, type Result, type Sql, type Statement } from './database/database.js';
export { migrateUp } from './database/migrate.js';
export { loadSql } from './database/load-sql.js';
export {
  AppError,
  DependencyUnavailable,
  Forbidden,
  InvalidInput,
  NotFound,
  Unauthenticated,
  type ErrorKind,
} from './errors/app-error.js';
export { isRedisAway } from './errors/dependency-failure.js';
export { HealthModule } from './health/health.module.js';
export { HealthRegistry, type Probe } from './health/health-registry.js';
export { BodyLimit } from './http/body-limit.js';
export { MAY_WAIT } from './http/deadline.js';
export { EdgeModule } from './http/edge.module.js';
export { ErrorAnswer } from './http/error-answer.dto.js';
export { IdParam } from './http/id-param.js';
export { preferredWaitMs } from './http/prefer.js';
export { createHttpAdapter, type WithRawBody } from './http/server.js';
export { createLogger, type Logger } from './logging/logger.js';
export { fenceRejected } from './metrics/fence-rejected.js';
export { BatchConsumer, type Consumption, type Delivery } from './nats/batch-consumer.js';
export {
  causeOf,
  DeadLetters,
  receivedAt,
  type DeadLetter,
  type DeadLetterPage,
} from './nats/dead-letters.js';
export { observeDeadLetters } from './nats/dead-letter-metrics.js';
export { ensureConsumer, ensureStream, type ConsumerDefinition } from './nats/ensure.js';
export { EventBus } from './nats/event-bus.js';
export { NATS, NatsModule } from './nats/nats.module.js';
export { CORE_STREAM } from './nats/streams.js';
export { buryUndelivered } from './nats/undelivered.js';
export { MessageMalformed, type Subject } from './nats/subject.js';
export { Gather } from './process/gather.js';
export { Loop } from './process/loop.js';
export { OneAtATime } from './process/one-at-a-time.js';
export { run, type Role } from './process/run.js';
export { CONFIG, LOGGER, SurroundingsModule, TIME_SCALE } from './process/surroundings.module.js';
export { QueueModule } from './queues/queue.module.js';
export { LuaScript } from './redis/lua-script.js';
export { createRedis } from './redis/redis.js';
export { REDIS, RedisModule } from './redis/redis.module.js';
export { Sweeps } from './sweeps/sweeps.js';
export { SweepsModule } from './sweeps/sweeps.module.js';
export { ThrottleModule } from './throttle/throttle.module.js';
export { continueTrace, type ContinuedTrace } from './tracing/continue-trace.js';
export { inSpan } from './tracing/spans.js';
