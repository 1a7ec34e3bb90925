import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { vendorsWith } from '#vendors';
import { EVENT_STATUSES } from '#webhooks';
import { NumericCursor, PageLimit } from '../page-query.js';

const VENDORS = vendorsWith('webhook');

export class WebhookEventId {
  @ApiProperty({ type: 'integer', minimum: 1 })
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(Number.MAX_SAFE_INTEGER)
  id: number;
}

export class WebhookEventsQuery {
  @ApiPropertyOptional({ enum: VENDORS, description: 'Only events of this vendor' })
  @IsOptional()
  @IsIn(VENDORS)
  vendor?: string;

  @ApiPropertyOptional({ enum: EVENT_STATUSES, description: 'Only events with this status' })
  @IsOptional()
  @IsIn(EVENT_STATUSES)
  status?: (typeof EVENT_STATUSES)[number];

  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @NumericCursor({ least: 0 })
  cursor = 0;
}

export class WebhookEventAnswer {
  @ApiProperty({ example: '4711' })
  id: string;

  @ApiProperty({ enum: VENDORS })
  vendor: string;

  @ApiProperty({ description: 'The athlete’s id at the vendor' })
  owner_id: string;

  @ApiProperty({ example: 'activity' })
  object_type: string;

  @ApiProperty({ description: 'The object’s id at the vendor' })
  object_id: string;

  @ApiProperty({ enum: ['create', 'update', 'delete'] })
  aspect: string;

  @ApiProperty({ enum: EVENT_STATUSES })
  status: string;

  @ApiProperty({ type: 'integer', description: 'The attempts that counted' })
  attempts: number;

  @ApiProperty({ type: String, nullable: true, example: 'VENDOR_OUTAGE' })
  last_error: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    description: 'The vendor’s time of the change, or of arrival',
  })
  event_time: Date;

  @ApiProperty({ type: String, format: 'date-time' })
  received_at: Date;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Null for an event that was set aside',
  })
  next_attempt_at: Date | null;
}

export class WebhookEventsAnswer {
  @ApiProperty({ type: [WebhookEventAnswer] })
  items: readonly WebhookEventAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}
