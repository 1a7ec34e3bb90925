import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { type FastifyReply } from 'fastify';
import { OperatorEvents } from '#admin';
import { AccessCheck, Admin, type AuthenticatedRequest } from '#platform';
import { MOST_OF_ATHLETE } from '#push';
import { beginEventStream } from '../event-stream.js';
import { Refuses } from '../openapi/common-answers.js';
import { ObservabilityAnswer } from './admin.dto.js';
import { ChangeNameAnswer, ManyChangesAnswer, UnavailableServerAnswer } from './events.dto.js';

/** Tells operators what changes, so that a console need not poll. */
@ApiTags('admin')
@Admin()
@ApiExtraModels(ChangeNameAnswer, ManyChangesAnswer, UnavailableServerAnswer)
@Controller('admin/events')
export class AdminEventsController {
  constructor(
    private readonly events: OperatorEvents,
    private readonly access: AccessCheck,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'followOperations',
    summary: 'Follow what changes for all athletes, as server-sent events',
    description:
      '`overview` has the body of `GET /admin/observability`. It is sent at once, and then after a change, at most every two seconds, or every ten if many athletes have backfills. `unavailable` names a server that does not answer, so that there is no overview until the next `overview`. `change` names a change without its data. After many changes at once comes one `changes` without their names: read again what is shown. Comments keep the connection open. Changes are not repeated after a new connection. The stream ends within two seconds after its token has expired.',
  })
  @ApiOkResponse({
    description: 'A stream of events',
    content: {
      'text/event-stream': {
        schema: {
          anyOf: [ObservabilityAnswer, UnavailableServerAnswer, ChangeNameAnswer, ManyChangesAnswer].map(
            (type) => ({
              $ref: getSchemaPath(type),
            }),
          ),
        },
      },
    },
  })
  @Refuses({
    503: `${MOST_OF_ATHLETE} streams of the operator are open, or too many streams of others are open, or a server that this request needs does not answer; try again`,
  })
  follow(@Req() request: AuthenticatedRequest, @Res() reply: FastifyReply): void {
    const options = {
      operator: request.caller.subject,
      assertAllowed: () => this.access.assertStillValid(request),
    };
    this.events.open(options, () => beginEventStream(request, reply));
  }
}
