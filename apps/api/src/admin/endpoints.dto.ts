import { ApiProperty } from '@nestjs/swagger';
import { WebhookEndpointAnswer } from '../apps/webhook-endpoints.dto.js';

export class EndpointHealthAnswer extends WebhookEndpointAnswer {
  @ApiProperty({ type: 'integer', description: 'Deliveries that wait; at most 10,000 are counted' })
  pending: number;

  @ApiProperty({ type: 'integer', description: 'Deliveries that were given up; at most 10,000 are counted' })
  failed: number;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Null if none of the newest 1,000 deliveries has succeeded',
  })
  last_success_at: Date | null;

  @ApiProperty({ type: 'integer', description: 'Failed attempts in a row' })
  failures: number;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  failing_since: Date | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The circuit breaker is open until then: no delivery is attempted',
  })
  paused_until: Date | null;
}

export class EndpointsHealthAnswer {
  @ApiProperty({ type: [EndpointHealthAnswer] })
  items: readonly EndpointHealthAnswer[];

  @ApiProperty({ type: String, nullable: true, description: 'Always null: there are 50 endpoints at most' })
  next_cursor: string | null;
}
