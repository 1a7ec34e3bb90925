import { Controller, Get, Headers, Query, Req, Res } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { type FastifyReply } from 'fastify';
import {
  AccessCheck,
  type ChangeType,
  LONG_POLL,
  NeedsScope,
  replyClosed,
  RouteFacts,
  type SpanningCaller,
  type SpanningRequest,
} from '#platform';
import {
  changeText,
  changeTypesIn,
  cursorOf,
  EventStreams,
  LongPoll,
  MOST_OF_ATHLETE,
  type Owner,
  type Page,
  placeOf,
} from '#push';
import { SpansAthletes } from '../athletes/known-athlete.guard.js';
import { beginEventStream } from '../event-stream.js';
import { Refuses } from '../openapi/common-answers.js';
import {
  ChangeAnswer,
  ChangesAnswer,
  ChangesQuery,
  CursorExpiredAnswer,
  EventsQuery,
} from './changes.dto.js';

const EXPIRED = {
  'application/json': { schema: { $ref: getSchemaPath(CursorExpiredAnswer) } },
};

/** Reads and follows the log of changes: an athlete's own, or with a service key those of all athletes. */
@ApiTags('apps')
@NeedsScope('events')
@SpansAthletes()
@ApiExtraModels(ChangeAnswer, CursorExpiredAnswer)
@Controller('v1')
export class ChangesController {
  constructor(
    private readonly poll: LongPoll,
    private readonly streams: EventStreams,
    private readonly access: AccessCheck,
  ) {}

  @Get('changes')
  @RouteFacts(LONG_POLL)
  @ApiOperation({
    operationId: 'listChanges',
    summary: 'List changes in the order of their commits',
    description:
      'A reader that goes on from `next_cursor` misses no change and gets none twice. A new reader first takes `after=latest`, then lists what it mirrors, and then follows the changes. Changes of different subjects may come in another order than they were made; `revision` orders the changes of one subject. With `wait`, the answer comes when there is a change, or after that time.',
  })
  @ApiOkResponse({ type: ChangesAnswer, description: 'A page of changes' })
  @Refuses({ 410: 'The changes after the cursor are no longer kept' }, EXPIRED)
  @Refuses({
    503: `${MOST_OF_ATHLETE} requests of the athlete wait for changes, or too many requests of others wait, or a server that this request needs does not answer; try again`,
  })
  async list(
    @Req() request: SpanningRequest,
    @Query() { after, limit, types, wait }: ChangesQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { caller } = request;
    const query = { athleteId: caller.athleteId, types: typesOf(types), limit };
    const signal = replyClosed(reply);
    const read = async () =>
      after === 'latest'
        ? this.poll.latest()
        : this.poll.read(
            { ...query, after: after === undefined ? undefined : placeOf(after, 'after') },
            { owner: ownerOf(caller), ms: wait * 1_000, signal },
          );
    const page = await unlessLeft(signal, read());
    if (!page) return;
    if (wait > 0) await this.access.assertStillValid(request);
    void reply
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(pageText(page));
  }

  @Get('events')
  @ApiOperation({
    operationId: 'followChanges',
    summary: 'Follow changes as server-sent events',
    description:
      'Begins with the next change, or after `Last-Event-ID`. `id` of each event is a cursor of `GET /v1/changes`, `event` is the type, `data` is the change as JSON. Comments keep the connection open. A client that reads too slowly is disconnected, and goes on from its last event.',
  })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The `id` of the last event that was received',
  })
  @ApiOkResponse({
    description: 'A stream of events; the `data` of each is a change as JSON',
    content: { 'text/event-stream': { schema: { $ref: getSchemaPath(ChangeAnswer) } } },
  })
  @Refuses({ 410: 'The changes after the event are no longer kept' }, EXPIRED)
  @Refuses({
    503: `${MOST_OF_ATHLETE} streams of the athlete are open, or too many streams of others are open, or a server that this request needs does not answer; try again`,
  })
  async follow(
    @Req() request: SpanningRequest,
    @Query() { types }: EventsQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { caller } = request;
    const after = lastEventId ? placeOf(lastEventId, 'last-event-id') : undefined;
    const signal = replyClosed(reply);
    const query = {
      athleteId: caller.athleteId,
      owner: ownerOf(caller),
      types: typesOf(types),
      after,
      assertAllowed: () => this.access.assertStillValid(request),
      signal,
    };
    await unlessLeft(
      signal,
      this.streams.open(query, () => beginEventStream(request, reply)),
    );
  }
}

/** Undefined if the client has left: nobody gets the answer or the error. */
async function unlessLeft<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  try {
    const result = await work;
    return signal.aborted ? undefined : result;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

const ownerOf = (caller: SpanningCaller): Owner =>
  caller.athleteId === undefined ? { name: `key:${caller.key.id}`, isKey: true } : { name: caller.athleteId };

function typesOf(list: string | undefined): readonly ChangeType[] | undefined {
  return list === undefined ? undefined : changeTypesIn(list.split(',').map((name) => name.trim()));
}

/** Written by hand, since the data of a change is JSON already. */
const pageText = ({ items, next, hasMore }: Page) =>
  `{"items":[${items.map(changeText).join(',')}],"next_cursor":"${cursorOf(next)}","has_more":${hasMore}}`;
