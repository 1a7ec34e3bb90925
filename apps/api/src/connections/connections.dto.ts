import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, Length, MaxLength } from 'class-validator';
import { PROVIDERS } from '#connections';
import { ErrorAnswer } from '#platform';

export class ConnectRequest {
  @ApiPropertyOptional({
    description: 'Where the browser goes afterwards; at or below one of RETURN_URLS',
    example: 'https://app.example/settings',
  })
  @IsOptional()
  @IsString()
  @MaxLength(2_048)
  return_url?: string;
}

export class ConnectAnswer {
  @ApiProperty({ format: 'uri', description: 'Send the athlete’s browser here within ten minutes' })
  authorize_url: string;
}

export class ConfirmOffer {
  @ApiProperty({ enum: PROVIDERS })
  provider: string;

  @ApiProperty({ enum: ['confirm'] })
  result: string;

  @ApiProperty({
    description: 'One-time code for `POST /v1/connections/{provider}/confirm`, valid for ten minutes',
  })
  confirm: string;
}

/** The form of the page that asks a person to confirm. */
export class ConsentForm {
  @ApiProperty()
  confirm: string;

  @ApiProperty({ description: 'Matches a cookie of the browser that got the page' })
  csrf: string;

  @ApiProperty({ enum: ['yes', 'no'] })
  decision: string;
}

export class ConsentErrorAnswer extends ErrorAnswer {
  @ApiPropertyOptional({ enum: PROVIDERS })
  provider?: string;

  @ApiPropertyOptional({
    enum: ['denied', 'missing_scope', 'already_connected', 'failed'],
    description: 'Absent if the request itself is malformed',
  })
  result?: string;
}

export class ConfirmRequest {
  @ApiProperty({ description: 'The `confirm` of the callback' })
  @IsString()
  @Length(1, 200)
  confirm: string;
}

export class ConnectionItem {
  @ApiProperty({ enum: PROVIDERS })
  provider: string;

  @ApiProperty({
    enum: ['active', 'needs_reauth'],
    description: '`needs_reauth`: the vendor ended the permission; the athlete has to connect again',
  })
  status: string;

  @ApiProperty({ description: 'The athlete’s id at the vendor' })
  vendor_athlete_id: string;

  @ApiProperty({ type: [String], description: 'The scopes that the athlete granted' })
  scopes: readonly string[];

  @ApiProperty({ format: 'date-time' })
  connected_at: string;
}

export class ConnectionList {
  @ApiProperty({ type: [ConnectionItem] })
  items: ConnectionItem[];
}
