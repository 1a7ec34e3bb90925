import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length, Matches } from 'class-validator';
import { PROVIDERS } from '#connections';
import { PageCursor, PageLimit } from '../page-query.js';

export class AthletesQuery {
  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @PageCursor()
  cursor?: string;
}

// Longer subjects do not fit into the index of the athletes.
const LONGEST_SUBJECT = 1_000;

export class RegisterAthlete {
  @ApiProperty({
    description: 'The `sub` that the athlete’s token will have',
    example: 'auth0|5f7c8ec7c33c6c004bbafe82',
    minLength: 1,
    maxLength: LONGEST_SUBJECT,
  })
  @IsString()
  @Length(1, LONGEST_SUBJECT)
  @Matches(/\S/, {
    message: 'subject must not be blank',
  })
  subject: string;
}

class ConnectionStatus {
  @ApiProperty({ enum: PROVIDERS })
  provider: string;

  @ApiProperty({ enum: ['active', 'needs_reauth'] })
  status: string;
}

export class AthleteAnswer {
  @ApiProperty({ format: 'uuid', description: 'For the header `Pacekeeper-Athlete`' })
  id: string;

  @ApiProperty({ description: 'The `sub` of the athlete’s tokens' })
  subject: string;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiProperty({ type: [ConnectionStatus] })
  connections: readonly ConnectionStatus[];
}

export class AthletesAnswer {
  @ApiProperty({ type: [AthleteAnswer] })
  items: readonly AthleteAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}
