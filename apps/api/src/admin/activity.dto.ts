import { ApiProperty } from '@nestjs/swagger';
import { type Provider, PROVIDERS } from '#connections';
import { FETCH_STATUSES } from '#streams';
import { TimelineJobAnswer } from '../processing/processing.dto.js';

class StoredStreamsAnswer {
  @ApiProperty({ type: 'integer' })
  point_count: number;

  @ApiProperty({ type: [String], example: ['time', 'heartrate'] })
  channels: readonly string[];

  @ApiProperty({ type: String, format: 'date-time' })
  fetched_at: Date;
}

class StreamFetchAnswer {
  @ApiProperty({ enum: FETCH_STATUSES })
  status: string;

  @ApiProperty({ type: String, nullable: true, description: 'The reason of the last failure or deferral' })
  error: string | null;

  @ApiProperty({ type: 'integer', description: 'Failures in a row' })
  retry_count: number;

  @ApiProperty({ type: 'integer', description: 'Attempts before only a reset makes the fetch due again' })
  attempts_left: number;

  @ApiProperty({ type: 'integer', description: 'Answers without streams; counted for new uploads' })
  empty_count: number;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  attempted_at: Date | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  deferred_until: Date | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'While `fetching`: from then on, the worker counts as dead and the attempt is ended',
  })
  given_up_at: Date | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Null while `pending`, and if no attempt follows',
  })
  next_attempt_at: Date | null;

  @ApiProperty({ description: 'An attempt may begin; it waits for its turn and for the vendor’s limits' })
  is_due: boolean;

  @ApiProperty({
    type: StoredStreamsAnswer,
    nullable: true,
    description: 'The streams that readers get, also while new ones are fetched',
  })
  stored: StoredStreamsAnswer | null;
}

export class AdminActivityAnswer {
  @ApiProperty({ format: 'uuid' })
  activity_id: string;

  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ enum: PROVIDERS })
  provider: Provider;

  @ApiProperty({ type: String, nullable: true })
  external_activity_id: string | null;

  @ApiProperty()
  name: string;

  @ApiProperty({ example: 'Run' })
  sport_type: string;

  @ApiProperty({ type: String, format: 'date-time' })
  start_time: Date;

  @ApiProperty()
  manual: boolean;

  @ApiProperty({ type: String, nullable: true, example: 'active', description: 'Null: not connected' })
  connection_status: string | null;

  @ApiProperty({ type: StreamFetchAnswer })
  stream: StreamFetchAnswer;

  @ApiProperty({ type: [TimelineJobAnswer], description: 'The newest 20 jobs, newest first' })
  jobs: readonly TimelineJobAnswer[];
}
