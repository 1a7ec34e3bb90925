export { ATHLETE_REQUEST, OperatorActions } from './audit/operator-actions.js';
export {
  type Access,
  ACCESS_EXTENSION,
  Admin,
  type AuthenticatedRequest,
  type GuardedRequest,
  NeedsScope,
  Public,
  requestOf,
  type Requirements,
  SCOPES_EXTENSION,
  scopesOf,
  ServiceOnly,
  SessionOnly,
  type SpanningRequest,
  TokenOnly,
} from './auth/access.js';
export { AccessCheck, AuthModule, requireScope } from './auth/auth.module.js';
export {
  accountOf,
  athleteIdOf,
  type AthleteIdentity,
  type Caller,
  canonicalSubject,
  type Person,
  type Role as PersonRole,
  type ServiceKey,
  type SpanningCaller,
} from './auth/caller.js';
export { isServiceKey, KEY_VERIFIER, type KeyVerifier, SERVICE_KEY_PREFIX } from './auth/key-verifier.js';
export { SESSION_VERIFIER, type SessionVerifier, type SignedIn } from './auth/session-verifier.js';
export {
  announceRemovedConnection,
  beginUnannouncedDeletion,
  CHANGE_TYPES,
  type ChangeType,
  Changes,
} from './changes/changes.js';
export { ClockDifferences, type ClockRange } from './clock/clock-differences.js';
export { Clock, SystemClock, timeScale, type TimeScale } from './clock/clock.js';
export { SignedTimes } from './clock/signed-times.js';
export { type Config, redactConfig } from './config/config.js';
export { environment, foreignNames } from './config/environment.js';
export { loadConfig } from './config/load-config.js';
export { schemas } from './config/schemas.js';
export {
  variablesOf,
  type VendorConfig,
  type VendorConfigs,
  type VendorSettings,
} from './config/vendor-settings.js';
export { Database, poolOf, type Sql, type Statement } from './database/database.js';
export { DatabaseModule } from './database/database.module.js';
export { cursorAt, type Keyset, keysetOf, pagesByBytes, pagesOf } from './database/keyset-pages.js';
export { deletePast, inBatches, roughCount } from './database/large-tables.js';
export { loadSql, prepared, withBytes } from './database/load-sql.js';
export { migrateUp } from './database/migrate.js';
export { Primary } from './database/primary.js';
export { StandbyReads } from './database/standby-reads.js';
export {
  AppError,
  DependencyUnavailable,
  Forbidden,
  InvalidInput,
  NotFound,
  Unauthenticated,
} from './errors/app-error.js';
export { dependencyFailure, isRedisAway } from './errors/dependency-failure.js';
export { HealthRegistry, type Probe } from './health/health-registry.js';
export { HealthModule } from './health/health.controller.js';
export {
  BodyLimit,
  CheckSender,
  LARGEST_BODY_BYTES,
  SMALL_BODY_BYTES,
  type SenderCheck,
  UnparsedBody,
} from './http/before-body.js';
export { allowOrigins, vary } from './http/cors.js';
export {
  LONG_POLL,
  LONGEST_POLL_SECONDS,
  MAY_WAIT,
  OWN_DEADLINE,
  preferredWaitMs,
  replyClosed,
} from './http/deadline.js';
export { EdgeModule } from './http/edge.module.js';
export { ErrorAnswer } from './http/error-answer.dto.js';
export { RouteFacts } from './http/route-facts.js';
export { createHttpAdapter, type WithRawBody } from './http/server.js';
export { checkBody, parseBody } from './http/parse-body.js';
export { IdParam, isId } from './http/validation.js';
export { createLogger, createToolLogger, type Logger, withoutRedaction } from './logging/logger.js';
export { startAtZero } from './metrics/start-at-zero.js';
export { BatchConsumer, type Consumption } from './nats/batch-consumer.js';
export {
  ConsumerStates,
  type DurableName,
  observeConsumers,
  type SilentConsumer,
} from './nats/consumer-states.js';
export { connectNats, connectNatsAtStart } from './nats/connect.js';
export { type DeadLetter, deadLetterCauseOf, RECEIVED_AT, receivedAt } from './nats/dead-letter.js';
export {
  type DeadLetterPage,
  DeadLetters,
  type LetterFilter,
  observeDeadLetters,
  type SubjectFilter,
} from './nats/dead-letters.js';
export { type DeliveredMessage, type Delivery } from './nats/delivery.js';
export { deleteConsumer, ensureStream } from './nats/ensure.js';
export { EventBus } from './nats/event-bus.js';
export { CORE_KEPT_MS, longestWaitMs, oldestStoredMs } from './nats/event-lifetime.js';
export { NATS, NatsModule } from './nats/nats.module.js';
export { deleteMessages, newestMessageAt, storedMessages } from './nats/stored-messages.js';
export { ADVISORIES, CORE_STREAM, DLQ_STREAM } from './nats/streams.js';
export { decodeOrMalformed, MessageMalformed, type Subject } from './nats/subject.js';
export { undeliveredConsumer, undeliveredDurable } from './nats/undelivered.js';
export { canonicalAddress, networkOf } from './net/client-network.js';
export { networkLookup } from './net/network-lookup.js';
export { AddressNotPublic, isPrivateLiteral, type Lookup, publicLookup } from './net/public-addresses.js';
export { atMostEntries } from './memory/entries.js';
export { Gather } from './process/gather.js';
export { limitHeapGrowth } from './process/heap.js';
export { Loop } from './process/loop.js';
export { allSettled, OneAtATime } from './process/one-at-a-time.js';
export { Listeners, Registration } from './process/registrations.js';
export { type Role, run } from './process/run.js';
export { CONFIG, LOGGER, SurroundingsModule, TIME_SCALE } from './process/surroundings.module.js';
export { Thread } from './process/thread.js';
export { Turns } from './process/turns.js';
export { queueMissing } from './queues/queue-missing.js';
export { QueueModule } from './queues/queue.module.js';
export { LuaScript } from './redis/lua-script.js';
export { createRedis, type RedisClient, slotPrefix } from './redis/redis.js';
export { releaseLock } from './redis/release-lock.js';
export { REDIS, RedisModule } from './redis/redis.module.js';
export { subscribeToWakeUps, wakeUpPublisher, type WakeUpSubscription } from './redis/wake-ups.js';
export { Sweeps } from './sweeps/sweeps.js';
export { SweepsModule } from './sweeps/sweeps.module.js';
export { NETWORK_EXTENSION, ThrottledByNetwork, ThrottleModule } from './throttle/throttle.module.js';
export { NO_ORIGIN, type Origin, originNow, REQUEST_ID, requestIdField, traceOf } from './tracing/origin.js';
export { type ContinuedTrace, continueTrace, describeSpan, inSpan } from './tracing/tracing.js';
export { buildInfo } from './version/build-info.js';
export { VersionModule } from './version/version.controller.js';
export { ClaimLost, type Fenced, FencedRows, fenceRejected } from './work/fence.js';
export { Lease, leaseLength, LeaseLost, RENEWALS_PER_LEASE } from './work/lease.js';
export { type Held, type Outcome, type Work, Worker } from './work/worker.js';
export { WorkModule, Workers } from './work/workers.js';
