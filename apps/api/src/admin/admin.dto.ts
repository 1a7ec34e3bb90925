import { ApiProperty } from '@nestjs/swagger';
import { FETCH_STATUSES } from '#streams';

class BudgetAnswer {
  @ApiProperty()
  used: number;

  @ApiProperty()
  limit: number;

  @ApiProperty()
  remaining: number;

  @ApiProperty({ format: 'date-time' })
  resets_at: Date;
}

class StatusCounts {
  @ApiProperty()
  pending: number;

  @ApiProperty()
  fetching: number;

  @ApiProperty()
  success: number;

  @ApiProperty()
  failed: number;

  @ApiProperty()
  deferred: number;

  @ApiProperty()
  unavailable: number;
}

class BackfillAnswer extends StatusCounts {
  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  eta: Date | null;
}

export class ObservabilityAnswer {
  @ApiProperty({ type: StatusCounts, description: 'activities by the state of their streams' })
  status_distribution: StatusCounts;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    description: 'failed ones by how often they have failed',
    example: { 1: 4, 3: 1 },
  })
  retry_distribution: Readonly<Record<string, number>>;

  @ApiProperty({ description: 'share of the calls of the last 24 hours that were answered with 429' })
  rate_429_24h: number;

  @ApiProperty({ type: BudgetAnswer, description: 'reads of these 15 minutes' })
  window: BudgetAnswer;

  @ApiProperty({ type: BudgetAnswer, description: 'reads of this day' })
  day: BudgetAnswer;

  @ApiProperty({ description: 'failed so often that only a reset helps' })
  stuck_failed: number;

  @ApiProperty({ type: [BackfillAnswer] })
  backfill: readonly BackfillAnswer[];
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

  @ApiProperty()
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
