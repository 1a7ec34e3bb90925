import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  type MessageEvent,
  Param,
  Post,
  Query,
  Sse,
  Req,
} from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { concatMap, type Observable } from 'rxjs';
import { Imports, ImportWatch } from '#activities';
import { AccessCheck, type AuthenticatedRequest, IdParam } from '#platform';
import { Refuses } from '../openapi/common-answers.js';
import { BeginImport, ImportAnswer, ImportsAnswer, ImportsQuery } from './imports.dto.js';

/**
 * Begins, lists, follows and cancels the imports of the athlete. A follower may miss states between two reads of the row, but always
 * gets the last state.
 */
@ApiTags('imports')
@Controller('v1/imports')
export class ImportsController {
  constructor(
    private readonly imports: Imports,
    private readonly watch: ImportWatch,
    private readonly access: AccessCheck,
  ) {}

  @Post()
  @HttpCode(202)
  @ApiOperation({
    operationId: 'beginImport',
    summary: 'Begin an import, or get a recent one instead',
    description:
      '`full` imports the whole history; `incremental` imports what is new since the last import. The import is for `provider`; without it, for the first connected vendor with activities, Strava before others. An unfinished import of that vendor and type is returned, and no second import begins. An import that was completed within the last five minutes (`incremental`) or the last day (`full`) is returned as well. A completed import is not returned, and a new import begins, in two cases: the requested `since` is earlier than the `since` of the completed import, or the athlete has connected the vendor again since then. Connecting a vendor with activities begins a full import without a request.',
  })
  @ApiAcceptedResponse({ type: ImportAnswer, description: 'The import' })
  @Refuses({
    409: 'No such vendor is connected, or the athlete has to connect again',
    429: 'Twenty imports from that vendor have begun within the hour, or together they have listed 40 pages in addition to the import with the longest list, or the athlete has used up the requests of this minute',
  })
  begin(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Body() { type, since, provider }: BeginImport,
  ): Promise<ImportAnswer> {
    return this.imports.begin(athleteId, type, since ?? null, provider);
  }

  @Get()
  @ApiOperation({
    operationId: 'listImports',
    summary: 'List the imports of the athlete, newest first',
    description: 'Includes the imports that begin by themselves when a vendor is connected.',
  })
  @ApiOkResponse({ type: ImportsAnswer, description: 'A page of imports' })
  list(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Query() { limit, cursor }: ImportsQuery,
  ): Promise<ImportsAnswer> {
    return this.imports.list(athleteId, cursor, limit);
  }

  @Get(':id')
  @ApiOperation({
    operationId: 'getImport',
    summary: 'Read the progress of an import and when the rest will arrive',
    description:
      '`message` describes the progress for a person; `eta` is the time at which the import will be complete, within the vendor’s limits.',
  })
  @ApiOkResponse({ type: ImportAnswer, description: 'The import' })
  @Refuses({ 404: 'The athlete has no such import' })
  look(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<ImportAnswer> {
    return this.imports.read(athleteId, id);
  }

  @Sse(':id/events')
  @ApiOperation({
    operationId: 'followImport',
    summary: 'Follow an import as server-sent events',
    description:
      'Sends the import at once and after each change. The stream ends when the import ends. Events named `heartbeat` have no data and keep the connection open.',
  })
  @ApiExtraModels(ImportAnswer)
  @ApiOkResponse({
    description: 'A stream of events; the `data` of each is the import as JSON',
    content: { 'text/event-stream': { schema: { $ref: getSchemaPath(ImportAnswer) } } },
  })
  @Refuses({
    404: 'The athlete has no such import',
    429: 'Five such streams of the athlete are open, or the athlete has used up the requests of this minute',
  })
  async events(
    @Req() request: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<Observable<MessageEvent>> {
    const { athleteId } = request.caller;
    const first = await this.imports.read(athleteId, id);
    return this.watch.follow(athleteId, id, first).pipe(
      concatMap(async (view) => {
        await this.access.assertStillValid(request);
        return view ? { data: view } : { type: 'heartbeat', data: '' };
      }),
    );
  }

  @Delete(':id')
  @ApiOperation({
    operationId: 'cancelImport',
    summary: 'Cancel an import',
    description: 'Activities that are already imported stay.',
  })
  @ApiOkResponse({ type: ImportAnswer, description: 'The import as it ended' })
  @Refuses({ 404: 'The athlete has no such import', 409: 'The import has ended already' })
  cancel(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) id: string,
  ): Promise<ImportAnswer> {
    return this.imports.cancel(athleteId, id);
  }
}
