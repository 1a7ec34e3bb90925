import { Controller, Get, Req } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { type AuthenticatedRequest } from '#platform';

class Me {
  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ enum: ['athlete', 'admin'] })
  role: string;

  @ApiProperty({ format: 'date-time' })
  token_expires_at: string;
}

@ApiTags('athlete')
@ApiBearerAuth()
@Controller('v1/me')
export class MeController {
  @Get()
  @ApiOperation({ summary: 'Whom the token speaks for' })
  @ApiOkResponse({ type: Me })
  me(@Req() { caller }: AuthenticatedRequest): Me {
    return {
      athlete_id: caller.athleteId,
      role: caller.role,
      token_expires_at: new Date(caller.expiresAtMs).toISOString(),
    };
  }
}
