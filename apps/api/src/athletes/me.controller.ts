import { Controller, Get, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { type AuthenticatedRequest } from '#platform';

class Me {
  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({
    enum: ['athlete', 'admin', 'service'],
    description: '`service`: a service key, for the athlete',
  })
  role: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'Null for a service key' })
  token_expires_at: string | null;
}

/** Reads the athlete of the token. */
@ApiTags('account')
@Controller('v1/me')
export class MeController {
  @Get()
  @ApiOperation({
    operationId: 'getMe',
    summary: 'Read the athlete of the token',
    description: 'The first request with an athlete’s token creates the athlete. There is no registration.',
  })
  @ApiOkResponse({ type: Me, description: 'The athlete of the token' })
  me(@Req() { caller }: AuthenticatedRequest): Me {
    return {
      athlete_id: caller.athleteId,
      role: caller.kind === 'service' ? 'service' : caller.role,
      token_expires_at: caller.kind === 'service' ? null : new Date(caller.expiresAtMs).toISOString(),
    };
  }
}
