import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';

/** `limit` of a list. The type is declared here, because the compiler emits only `Object` for `limit = 50`. */
export const PageLimit = ({ most, otherwise }: { most: number; otherwise: number }) =>
  applyDecorators(
    ApiPropertyOptional({
      type: 'integer',
      minimum: 1,
      maximum: most,
      default: otherwise,
      description: 'Maximum number of items in a page',
    }),
    IsOptional(),
    Type(() => Number),
    IsInt(),
    Min(1),
    Max(most),
  );

const CURSOR = { type: String, description: '`next_cursor` of the previous page' } as const;

/** An opaque `cursor` of a list. */
export const PageCursor = ({ longest = 200 }: { longest?: number } = {}) =>
  applyDecorators(ApiPropertyOptional(CURSOR), IsOptional(), IsString(), Length(1, longest));

/** A numeric `cursor` of a list. */
export const NumericCursor = ({ least }: { least: number }) =>
  applyDecorators(
    ApiPropertyOptional(CURSOR),
    IsOptional(),
    Type(() => Number),
    IsInt(),
    Min(least),
    Max(Number.MAX_SAFE_INTEGER),
  );
