import { ApiProperty } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { VENDOR_IDS, type VendorId } from '#vendors';

export class TrafficQuery {
  @ApiProperty({ enum: VENDOR_IDS })
  @IsIn(VENDOR_IDS)
  vendor: VendorId;
}

class TrafficBucketAnswer {
  @ApiProperty({ type: String, format: 'date-time', description: 'The beginning of the bucket' })
  at: Date;

  @ApiProperty({ type: 'integer' })
  live: number;

  @ApiProperty({ type: 'integer' })
  import: number;

  @ApiProperty({ type: 'integer' })
  backfill: number;

  @ApiProperty({ type: 'integer', description: 'How many of these calls the vendor answered with 429' })
  rate_limited: number;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description:
      'Calls that the vendor’s windows shorter than a day allow in a bucket, by the limits known now; null if the vendor limits only days',
  })
  limit: number | null;
}

export class TrafficAnswer {
  @ApiProperty({ enum: VENDOR_IDS })
  vendor: VendorId;

  @ApiProperty({ type: String, format: 'date-time' })
  from: Date;

  @ApiProperty({
    type: String,
    format: 'date-time',
    description: 'The end of the last bucket, in the future',
  })
  to: Date;

  @ApiProperty({ description: 'The length of a bucket; 900000 if `TIME_SCALE` is 1' })
  bucket_ms: number;

  @ApiProperty({ type: [TrafficBucketAnswer] })
  buckets: readonly TrafficBucketAnswer[];
}
