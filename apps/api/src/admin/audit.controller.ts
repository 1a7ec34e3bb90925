import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Admin, OperatorActions } from '#platform';
import { AuditAnswer, AuditQuery } from './audit.dto.js';

/** Shows operators the audit log of operators' actions. Actions are kept for `AUDIT_RETENTION_DAYS`. */
@ApiTags('admin')
@Admin()
@Controller('admin/audit')
export class AuditController {
  constructor(private readonly actions: OperatorActions) {}

  @Get()
  @ApiOperation({
    operationId: 'listOperatorActions',
    summary: 'List operators’ actions, newest first',
    description:
      'An action is recorded before it is carried out, so a listed action may have failed. A session’s GET requests on behalf of an athlete are recorded once an hour for each athlete and route.',
  })
  @ApiOkResponse({ type: AuditAnswer, description: 'A page of actions' })
  list(@Query() query: AuditQuery): Promise<AuditAnswer> {
    return this.actions.list(query);
  }
}
