import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, Length } from 'class-validator';
import { NumericCursor, PageLimit } from '../page-query.js';

const ACTION_KINDS = ['action', 'read'] as const;

export class AuditQuery {
  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @NumericCursor({ least: 1 })
  cursor?: number;

  @ApiPropertyOptional({ description: 'Only actions of this operator: the subject of the token' })
  @IsOptional()
  @IsString()
  @Length(1, 1_000)
  actor?: string;

  @ApiPropertyOptional({ example: 'dlq.replay', description: 'Only this action' })
  @IsOptional()
  @IsString()
  @Length(1, 100)
  action?: string;

  @ApiPropertyOptional({
    enum: ACTION_KINDS,
    description:
      '`read`: only the GET requests in which an operator read an athlete’s data. `action`: all but these',
  })
  @IsOptional()
  @IsIn(ACTION_KINDS)
  kind?: (typeof ACTION_KINDS)[number];
}

class OperatorActionAnswer {
  @ApiProperty({ example: '4711' })
  id: string;

  @ApiProperty({ type: String, format: 'date-time' })
  at: Date;

  @ApiProperty({ description: 'The subject of the operator’s token' })
  actor: string;

  @ApiProperty({ example: 'dlq.replay' })
  action: string;

  @ApiProperty({ description: 'The id of the object that the action was about' })
  target: string;

  @ApiProperty({ type: 'object', additionalProperties: true })
  detail: Readonly<Record<string, unknown>>;
}

export class AuditAnswer {
  @ApiProperty({ type: [OperatorActionAnswer] })
  items: readonly OperatorActionAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}
