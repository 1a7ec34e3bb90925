import { ApiProperty } from '@nestjs/swagger';
import { type Provider, PROVIDERS } from '#connections';
import { CALL_CLASSES } from '#rate-limit';
import { FETCH_STATUSES } from '#streams';

class BudgetAnswer {
  @ApiProperty({ type: 'integer' })
  used: number;

  @ApiProperty({ type: 'integer' })
  limit: number;

  @ApiProperty({ type: 'integer' })
  remaining: number;

  @ApiProperty({ type: String, format: 'date-time' })
  resets_at: Date;
}

export class StatusCounts {
  @ApiProperty({ type: 'integer' })
  pending: number;

  @ApiProperty({ type: 'integer' })
  fetching: number;

  @ApiProperty({ type: 'integer' })
  success: number;

  @ApiProperty({ type: 'integer' })
  failed: number;

  @ApiProperty({ type: 'integer' })
  deferred: number;

  @ApiProperty({ type: 'integer' })
  unavailable: number;
}

class BackfillAnswer extends StatusCounts {
  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  eta: Date | null;
}

class ClassUseAnswer {
  @ApiProperty({ enum: CALL_CLASSES })
  class: string;

  @ApiProperty({
    type: 'integer',
    description: 'Calls in the current window; their sum may be lower than what the vendor has counted',
  })
  used: number;

  @ApiProperty({
    type: 'integer',
    description: 'Calls of the limit that this class leaves to more urgent classes now',
  })
  reserve: number;
}

class CounterAnswer extends BudgetAnswer {
  @ApiProperty({ example: 'read' })
  bucket: string;

  @ApiProperty({ example: '15min' })
  window: string;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The vendor answered 429: no call is made until then. Null if the window is open',
  })
  closed_until: Date | null;

  @ApiProperty({ type: [ClassUseAnswer] })
  classes: readonly ClassUseAnswer[];
}

class VendorBudgetAnswer {
  @ApiProperty({ enum: PROVIDERS })
  provider: Provider;

  @ApiProperty({
    minimum: 0,
    maximum: 1,
    description: 'Share of the calls of the last 24 hours that the vendor answered with 429',
  })
  rate_429_24h: number;

  @ApiProperty({ type: [CounterAnswer] })
  counters: readonly CounterAnswer[];
}

class SilentConsumerAnswer {
  @ApiProperty({ example: 'normalize-sleep-durable' })
  consumer: string;

  @ApiProperty({ example: 'AA_CORE_HOT' })
  stream: string;

  @ApiProperty({ type: 'integer', description: 'Messages that wait for this consumer' })
  waiting: number;

  @ApiProperty({ type: 'integer', description: 'Messages that were delivered and not settled' })
  unsettled: number;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The last delivery or settlement; null if there was none',
  })
  last_active_at: string | null;
}

class AttentionAnswer {
  @ApiProperty({ type: 'integer', description: 'Connections whose athlete has to connect again' })
  needs_reauth: number;

  @ApiProperty({ type: 'integer', description: 'The same number as `stuck_failed` of the answer' })
  stuck_failed: number;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Null while NATS does not answer' })
  dead_letters: number | null;

  @ApiProperty({
    type: 'integer',
    description: 'Webhook endpoints that failed 8 times in a row, or that were disabled because they failed',
  })
  failing_endpoints: number;

  @ApiProperty({ type: 'integer', description: 'Vendors’ events that were set aside' })
  webhook_events_set_aside: number;

  @ApiProperty({
    type: [SilentConsumerAnswer],
    nullable: true,
    description:
      'NATS consumers that no worker pulls from. A worker that pulls, but handles nothing, is reported by its own `/health/ready`. Null while NATS does not answer',
  })
  silent_consumers: readonly SilentConsumerAnswer[] | null;
}

export class ObservabilityAnswer {
  @ApiProperty({ type: StatusCounts, description: 'Activities by the state of their streams' })
  status_distribution: StatusCounts;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    description: 'Activities whose streams failed, by the number of attempts',
    example: { 1: 4, 3: 1 },
  })
  retry_distribution: Readonly<Record<string, number>>;

  @ApiProperty({
    minimum: 0,
    maximum: 1,
    description: 'Share of the calls of the last 24 hours that Strava answered with 429',
  })
  rate_429_24h: number;

  @ApiProperty({ type: BudgetAnswer, description: 'Read calls of Strava’s current 15-minute window' })
  window: BudgetAnswer;

  @ApiProperty({ type: BudgetAnswer, description: 'Read calls of Strava’s current day' })
  day: BudgetAnswer;

  @ApiProperty({ type: [VendorBudgetAnswer], description: 'The budgets of all vendors' })
  budgets: readonly VendorBudgetAnswer[];

  @ApiProperty({
    type: 'integer',
    description:
      'Activities whose stream attempts are used up. Their streams are fetched again only after a reset',
  })
  stuck_failed: number;

  @ApiProperty({ type: [BackfillAnswer] })
  backfill: readonly BackfillAnswer[];

  @ApiProperty({ description: 'Whether an operator has paused all backfills' })
  backfills_paused: boolean;

  @ApiProperty({ type: AttentionAnswer, description: 'How much waits for a person' })
  needs_attention: AttentionAnswer;
}

export class FetchStateAnswer {
  @ApiProperty({ format: 'uuid' })
  activity_id: string;

  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ enum: FETCH_STATUSES })
  status: string;

  @ApiProperty({ type: String, nullable: true })
  error: string | null;

  @ApiProperty({ type: 'integer' })
  retry_count: number;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  attempted_at: Date | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  deferred_until: Date | null;
}

export class BackfillQueuedAnswer {
  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ enum: ['queued'] })
  status: string;
}

export class BackfillSwitchAnswer {
  @ApiProperty({ enum: ['paused', 'running'] })
  status: string;
}
