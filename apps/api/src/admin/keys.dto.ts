import { ApiProperty } from '@nestjs/swagger';
import { ArrayNotEmpty, ArrayUnique, IsArray, IsIn, IsString, Length, Matches } from 'class-validator';
import { KEY_SCOPES } from '#connections';
import { PageCursor, PageLimit } from '../page-query.js';

export class KeysQuery {
  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @PageCursor()
  cursor?: string;
}

export class CreateKey {
  @ApiProperty({
    description: 'The name that operators see',
    example: 'backend',
    minLength: 1,
    maxLength: 100,
  })
  @IsString()
  @Length(1, 100)
  @Matches(/\S/, { message: 'name must not be blank' })
  name: string;

  @ApiProperty({ enum: KEY_SCOPES, isArray: true, minItems: 1, uniqueItems: true })
  @IsArray()
  @ArrayNotEmpty()
  @ArrayUnique()
  @IsIn(KEY_SCOPES, { each: true })
  scopes: string[];
}

export class NewKeyAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty()
  name: string;

  @ApiProperty({ enum: KEY_SCOPES, isArray: true })
  scopes: readonly string[];

  @ApiProperty({ description: 'The key. No other answer has it, so keep it now', example: 'pk_…' })
  key: string;
}

class KeyItem {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty()
  name: string;

  @ApiProperty({ enum: KEY_SCOPES, isArray: true })
  scopes: readonly string[];

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  revoked_at: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The last use; up to a minute old',
  })
  last_used_at: string | null;
}

export class KeysAnswer {
  @ApiProperty({ type: [KeyItem] })
  items: readonly KeyItem[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}
