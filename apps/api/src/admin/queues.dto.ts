import { ApiProperty } from '@nestjs/swagger';

class TickAnswer {
  @ApiProperty()
  id: string;

  @ApiProperty({ enum: ['active', 'waiting', 'delayed'] })
  state: string;

  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'The athlete of a backfill; null for an import',
  })
  athlete_id: string | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null for a backfill' })
  import_id: string | null;

  @ApiProperty({ type: String, format: 'date-time' })
  queued_at: Date;

  @ApiProperty({
    type: String,
    format: 'date-time',
    description: 'The time at which a delayed tick goes to a worker',
  })
  due_at: Date;
}

class QueueAnswer {
  @ApiProperty({ example: 'backfill-strava' })
  queue: string;

  @ApiProperty({ type: 'integer' })
  waiting: number;

  @ApiProperty({ type: 'integer', description: 'Ticks that a worker handles now' })
  active: number;

  @ApiProperty({ type: 'integer', description: 'Ticks that wait for their time' })
  delayed: number;

  @ApiProperty({ type: 'integer' })
  failed: number;

  @ApiProperty({ type: [TickAnswer], description: 'The first 20 ticks of each state' })
  ticks: readonly TickAnswer[];
}

export class QueuesAnswer {
  @ApiProperty({ type: [QueueAnswer] })
  items: readonly QueueAnswer[];

  @ApiProperty({ type: String, nullable: true, description: 'Always null: the answer has all queues' })
  next_cursor: string | null;
}
