import { ApiProperty } from '@nestjs/swagger';

export class ReceiptIdAnswer {
  @ApiProperty({ format: 'uuid', description: 'for GET /v1/receipts/{id}' })
  receipt_id: string;
}

export class ReceiptAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ enum: ['account', 'strava', 'oura', 'whoop'] })
  what: string;

  @ApiProperty({ enum: ['requested', 'deauthorized'] })
  reason: string;

  @ApiProperty({ enum: ['pending', 'completed'] })
  status: string;

  @ApiProperty({ format: 'date-time' })
  requested_at: Date;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  completed_at: Date | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { activities: 847, imports: 3 },
    description: 'how many records of each kind have been deleted',
  })
  deleted: Readonly<Record<string, number>>;
}
