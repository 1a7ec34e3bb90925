import { ApiProperty } from '@nestjs/swagger';
import { PROVIDERS } from '#connections';

export class ReceiptIdAnswer {
  @ApiProperty({ format: 'uuid', description: 'For `GET /v1/receipts/{id}`' })
  receipt_id: string;
}

export class ReceiptAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ enum: ['account', ...PROVIDERS], description: 'The whole account, or one vendor’s data' })
  what: string;

  @ApiProperty({
    enum: ['requested', 'deauthorized'],
    description: '`deauthorized`: the athlete ended the permission at the vendor',
  })
  reason: string;

  @ApiProperty({ enum: ['pending', 'completed'] })
  status: string;

  @ApiProperty({ type: String, format: 'date-time' })
  requested_at: Date;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  completed_at: Date | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description:
      'After this time only this receipt names the person. The receipt is kept for `RECEIPTS_RETENTION_DAYS` (365)',
  })
  until: Date | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { activities: 847, imports: 3 },
    description: 'How many records of each kind were deleted',
  })
  deleted: Readonly<Record<string, number>>;
}
