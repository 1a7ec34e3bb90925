import { ApiProperty } from '@nestjs/swagger';

class GateSessionAnswer {
  @ApiProperty({
    type: String,
    format: 'date-time',
    description: 'The time at which the session got its place',
  })
  since: Date;

  @ApiProperty({ type: String, format: 'date-time', description: 'The time of the session’s last request' })
  seen_at: Date;

  @ApiProperty({
    description: 'Silent for longer than `GATE_IDLE_SECONDS`; a newcomer may soon get its place',
  })
  is_idle: boolean;
}

class GateMinuteAnswer {
  @ApiProperty({ type: String, format: 'date-time', description: 'The beginning of the minute' })
  at: Date;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { admitted: 120, capacity_busy: 3 },
    description: 'Decisions by cause, as in the metric `gate_decisions_total`',
  })
  causes: Readonly<Record<string, number>>;
}

export class GateStateAnswer {
  @ApiProperty({ type: 'integer' })
  capacity: number;

  @ApiProperty({ type: 'integer' })
  places_used: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Viewers who were refused a place within `GATE_IDLE_SECONDS` and `GATE_GRACE_SECONDS`, and have got none since; at most 1,000. The gate has no queue: a viewer gets a place by asking again, and may also have given up',
  })
  waiting: number;

  @ApiProperty({ type: [GateSessionAnswer], description: 'At most 100, latest request first' })
  sessions: readonly GateSessionAnswer[];

  @ApiProperty({
    type: [GateMinuteAnswer],
    description: 'Decisions of all replicas, by minute, oldest first. A minute without decisions is left out',
  })
  decisions_last_hour: readonly GateMinuteAnswer[];
}
