import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { NumericCursor, PageLimit } from '../page-query.js';

const MOST_SEQS = 1_000;
const LONGEST_SUBJECT = 255;

export class LetterSeq {
  @ApiProperty({
    type: 'integer',
    minimum: 1,
    description: 'Sequence number of the dead letter in the stream `AA_DLQ`',
  })
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(Number.MAX_SAFE_INTEGER)
  seq: number;
}

export class DeadLettersQuery {
  @PageLimit({ most: 100, otherwise: 50 })
  limit = 50;

  @NumericCursor({ least: 0 })
  cursor = 0;

  @ApiPropertyOptional({ example: 'max-deliver', description: 'Only dead letters with this reason' })
  @IsOptional()
  @IsString()
  @Length(1, LONGEST_SUBJECT)
  reason?: string;

  @ApiPropertyOptional({
    example: 'dlq.normalize.sleep.raw-received.max-deliver',
    description: 'Only dead letters with this subject',
  })
  @IsOptional()
  @IsString()
  @Length(1, LONGEST_SUBJECT)
  subject?: string;
}

const ANY_JSON = {
  anyOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', items: {} },
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
  ],
  nullable: true,
};

export class LettersFilter {
  @ApiPropertyOptional({ example: 'max-deliver' })
  @IsOptional()
  @IsString()
  @MaxLength(LONGEST_SUBJECT)
  reason?: string;

  @ApiPropertyOptional({ example: 'dlq.normalize.sleep.raw-received.max-deliver' })
  @IsOptional()
  @IsString()
  @MaxLength(LONGEST_SUBJECT)
  subject?: string;

  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'integer', minimum: 1 },
    minItems: 1,
    maxItems: MOST_SEQS,
  })
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MOST_SEQS)
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(Number.MAX_SAFE_INTEGER, { each: true })
  seqs?: number[];
}

export class MatchedAnswer {
  @ApiProperty({ type: 'integer', description: 'How many dead letters matched when the request came' })
  matched: number;
}

export class DeadLetterAnswer {
  @ApiProperty({ type: 'integer' })
  seq: number;

  @ApiProperty({ example: 'dlq.normalize.sleep.raw-received.max-deliver' })
  subject: string;

  @ApiProperty({ example: 'max-deliver' })
  reason: string;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Number of deliveries' })
  attempts: number | null;

  @ApiProperty({ type: String, nullable: true })
  error: string | null;

  @ApiProperty({ format: 'date-time' })
  at: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    example: { 'dlq-subject': ['athlete-ally.sleep.raw-received'], 'dlq-attempts': ['5'] },
    description: 'The headers of the message in NATS; a name may have several values',
  })
  headers: Readonly<Record<string, readonly string[]>>;

  @ApiProperty({ ...ANY_JSON, description: 'The message; text if it was not JSON' })
  payload: unknown;
}

export class DeadLettersAnswer {
  @ApiProperty({ type: [DeadLetterAnswer] })
  items: readonly DeadLetterAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { 'max-deliver': 20000 },
    description: 'Number of all dead letters by reason',
  })
  counts: Readonly<Record<string, number>>;
}
