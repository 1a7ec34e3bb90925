import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength, MinLength } from 'class-validator';
import { type Provider, PROVIDERS } from '#connections';

// A header may have 16 KB, so no longer token is of use.
export const LONGEST_TOKEN = 16 * 1_024;

export class SignIn {
  @ApiProperty({
    required: false,
    description: 'The token of an operator or an athlete',
    minLength: 1,
    maxLength: LONGEST_TOKEN,
  })
  @IsOptional()
  @IsString()
  @MinLength(1)
  @MaxLength(LONGEST_TOKEN)
  token?: string;

  @ApiProperty({
    required: false,
    description: 'A code of `POST /v1/session/codes`',
    minLength: 1,
    maxLength: 100,
  })
  @IsOptional()
  @IsString()
  @MinLength(1)
  @MaxLength(100)
  code?: string;
}

const RECORDS = ['activities', 'sleep'] as const;

export class SessionVendorAnswer {
  @ApiProperty({ enum: PROVIDERS })
  provider: Provider;

  @ApiProperty({ description: 'The name as the vendor writes it', example: 'Strava' })
  title: string;

  @ApiProperty({ enum: RECORDS, isArray: true, description: 'The records that come from the vendor' })
  records: ReadonlyArray<(typeof RECORDS)[number]>;

  @ApiProperty({ description: 'Whether the vendor gives records from before the connection' })
  has_history: boolean;
}

export class SessionAnswer {
  @ApiProperty({ enum: ['athlete', 'admin'] })
  role: string;

  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ description: 'The `sub` of the token' })
  subject: string;

  @ApiProperty({
    description: 'The name to show, from the claims of the token',
    example: 'Anna (a@example.org)',
  })
  account: string;

  @ApiProperty({
    format: 'date-time',
    description: 'At most 12 hours after the sign-in, and no later than the token',
  })
  expires_at: string;

  @ApiProperty({
    description: 'For the header `X-CSRF-Token` of every request of this session that is not a GET or HEAD',
  })
  csrf_token: string;

  @ApiProperty({
    type: [SessionVendorAnswer],
    description: 'All vendors, also those that are not offered here',
  })
  vendors: SessionVendorAnswer[];
}

export class SignInCodeAnswer {
  @ApiProperty({ description: 'The code. No other answer has it' })
  code: string;

  @ApiProperty({ format: 'date-time', description: 'An hour after the request, and no later than the token' })
  expires_at: string;
}
