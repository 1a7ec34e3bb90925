import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';

export class LetterSeq {
  @ApiProperty({ description: 'its sequence in the stream AA_DLQ' })
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(Number.MAX_SAFE_INTEGER)
  seq: number;
}

export class DeadLettersQuery {
  @ApiPropertyOptional({ minimum: 1, maximum: 100, default: 50 })
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  limit = 50;

  @ApiPropertyOptional({ description: 'next_cursor of the page before', type: String })
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  cursor = 0;
}

export class DeadLetterAnswer {
  @ApiProperty()
  seq: number;

  @ApiProperty({ example: 'dlq.normalize.sleep.raw-received.max-deliver' })
  subject: string;

  @ApiProperty({ example: 'max-deliver' })
  reason: string;

  @ApiProperty({ type: Number, nullable: true, description: 'how often it had been delivered' })
  attempts: number | null;

  @ApiProperty({ type: String, nullable: true })
  error: string | null;

  @ApiProperty({ format: 'date-time' })
  at: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'as it was, text if it was not JSON',
  })
  payload: unknown;
}

export class DeadLettersAnswer {
  @ApiProperty({ type: [DeadLetterAnswer] })
  items: readonly DeadLetterAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}
