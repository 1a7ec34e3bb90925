import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { PROVIDERS } from '#connections';

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
  @ApiProperty({ format: 'uri', description: 'Where to send the athlete, within ten minutes' })
  authorize_url: string;
}

export class ConnectionItem {
  @ApiProperty({ enum: PROVIDERS })
  provider: string;

  @ApiProperty({
    enum: ['active', 'needs_reauth'],
    description: '`needs_reauth`: the vendor ended it; connecting again mends it',
  })
  status: string;

  @ApiProperty()
  vendor_athlete_id: string;

  @ApiProperty({ type: [String] })
  scopes: readonly string[];

  @ApiProperty({ format: 'date-time' })
  connected_at: string;
}

export class ConnectionList {
  @ApiProperty({ type: [ConnectionItem] })
  items: ConnectionItem[];
}
