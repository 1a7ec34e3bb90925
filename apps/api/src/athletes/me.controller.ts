import { Controller, Get } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiOkResponse,
  ApiOperation,
  ApiProperty,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { type Caller, CurrentCaller, ErrorAnswer } from '#platform';

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
  @ApiUnauthorizedResponse({ type: ErrorAnswer })
  me(@CurrentCaller() caller: Caller): Me {
    return {
      athlete_id: caller.athleteId,
      role: caller.role,
      token_expires_at: new Date(caller.expiresAtMs).toISOString(),
    };
  }
}
