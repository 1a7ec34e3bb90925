import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsDefined,
  IsIn,
  IsOptional,
  IsString,
  Length,
  ValidateIf,
} from 'class-validator';
import { applyDecorators, Injectable, type PipeTransform } from '@nestjs/common';
import { NotFound } from '#platform';
import { DELIVERY_STATUSES, ENDPOINT_STATUSES, TYPE_FILTERS } from '#push';
import { IsDateTime } from '../activities/dates.js';
import { NumericCursor, PageLimit } from '../page-query.js';

const Url = () =>
  applyDecorators(
    ApiProperty({
      example: 'https://app.example/hooks/pacekeeper',
      description: 'https, on a public address. The deliveries are posted there; redirects are not followed.',
    }),
    IsString(),
    Length(1, 2_000),
  );

const Types = () =>
  applyDecorators(
    ApiProperty({
      type: [String],
      enum: TYPE_FILTERS,
      example: ['activity.*', 'sleep.stored'],
      description: 'Only changes of these types; `activity.*` for all of a group, `*` for all',
    }),
    IsArray(),
    ArrayNotEmpty(),
    ArrayMaxSize(TYPE_FILTERS.length),
    ArrayUnique(),
    IsIn(TYPE_FILTERS, { each: true }),
  );

const Description = () =>
  applyDecorators(
    ApiPropertyOptional({ type: String, nullable: true, maxLength: 500, description: 'For your own use' }),
    IsOptional(),
    IsString(),
    Length(0, 500),
  );

// Unlike IsOptional it refuses null.
const IfGiven = () => ValidateIf((_, value: unknown) => value !== undefined);

export class NewWebhookEndpoint {
  @Url()
  url: string;

  @Types()
  types: string[];

  @Description()
  description?: string | null;
}

export class WebhookEndpointChange {
  @IfGiven()
  @Url()
  @ApiPropertyOptional()
  url?: string;

  @IfGiven()
  @Types()
  @ApiPropertyOptional()
  types?: string[];

  @Description()
  description?: string | null;

  @ApiPropertyOptional({
    enum: ENDPOINT_STATUSES,
    description: 'An endpoint that is set to `active` gets the deliveries that wait for it',
  })
  @IfGiven()
  @IsIn(ENDPOINT_STATUSES)
  status?: (typeof ENDPOINT_STATUSES)[number];
}

export class ReplayRange {
  @ApiProperty({ type: String, format: 'date-time', description: 'Changes from this time on' })
  @IsDefined({ message: 'is required' })
  @IsDateTime()
  from: Date;

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Changes up to this time; absent: up to now',
  })
  @IsOptional()
  @IsDateTime()
  to?: Date | null;
}

/** Answers 404 for a text that is no number, as for an unknown id. */
@Injectable()
export class DeliveryIdParam implements PipeTransform<string, number> {
  transform(value: string): number {
    if (!/^\d{1,15}$/.test(value)) throw new NotFound();
    return Number(value);
  }
}

export class DeliveriesQuery {
  @ApiPropertyOptional({ enum: DELIVERY_STATUSES, description: 'Only deliveries with this status' })
  @IsOptional()
  @IsIn(DELIVERY_STATUSES)
  status?: (typeof DELIVERY_STATUSES)[number];

  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @NumericCursor({ least: 1 })
  cursor?: number;
}

export class WebhookEndpointAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'https://app.example/hooks/pacekeeper' })
  url: string;

  @ApiProperty({ type: [String], enum: TYPE_FILTERS })
  types: readonly string[];

  @ApiProperty({ type: String, nullable: true })
  description: string | null;

  @ApiProperty({ enum: ENDPOINT_STATUSES })
  status: string;

  @ApiProperty({ type: String, nullable: true, example: 'The endpoint answered 410.' })
  disabled_reason: string | null;

  @ApiProperty({ type: String, format: 'date-time' })
  created_at: Date;
}

const SECRET = {
  example: 'whsec_Qm9va3Mgb2Ygd2ViaG9va3Mgb2YgdGhlIGFwcCE=',
  description: 'Verifies the signatures of deliveries. It is shown only in this answer.',
};

export class CreatedWebhookEndpointAnswer extends WebhookEndpointAnswer {
  @ApiProperty(SECRET)
  secret: string;
}

export class RotatedSecretAnswer {
  @ApiProperty(SECRET)
  secret: string;

  @ApiProperty({
    type: String,
    format: 'date-time',
    description: 'The time until which deliveries also have a signature of the old secret',
  })
  previous_valid_until: Date;
}

export class WebhookEndpointsAnswer {
  @ApiProperty({ type: [WebhookEndpointAnswer] })
  items: readonly WebhookEndpointAnswer[];

  @ApiProperty({ type: String, nullable: true, description: 'Always null: there are 50 endpoints at most' })
  next_cursor: string | null;
}

export class DeliveryAnswer {
  @ApiProperty({ example: '4711' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'The `webhook-id` of the delivery' })
  change_id: string;

  @ApiProperty({ example: 'activity.created' })
  type: string;

  @ApiProperty({ enum: DELIVERY_STATUSES })
  status: string;

  @ApiProperty({ type: 'integer' })
  attempts: number;

  @ApiProperty({ type: 'integer', nullable: true, description: 'The status that the endpoint answered' })
  last_status: number | null;

  @ApiProperty({ type: String, nullable: true, description: 'The first 1 kB of the endpoint’s answer' })
  last_response: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'No whole answer within 10 s.' })
  last_error: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Null if the delivery has ended',
  })
  next_attempt_at: Date | null;
}

export class DeliveriesAnswer {
  @ApiProperty({ type: [DeliveryAnswer] })
  items: readonly DeliveryAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

export class ReplayAnswer {
  @ApiProperty({ enum: ['queued'] })
  status: string;
}
