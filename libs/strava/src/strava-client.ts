import { z } from 'zod';
import { BudgetMeter, type CallBudget } from '#connections';
import { type Clock, type TimeScale } from '#platform';
import { type CallClass } from '#rate-limit';
import {
  AnswerTooLarge,
  CallTimedOut,
  ConnectionFailed,
  type OutboundAnswer,
  type OutboundCaller,
  type OutboundRequest,
} from '#reliability';
import { type AccessTokens } from './access-tokens.js';
import { missingScope, readAnswer } from './read-answer.js';
import {
  CallUnwanted,
  StravaAnswerMalformed,
  StravaBudgetUnavailable,
  StravaForbidden,
  StravaNotFound,
  StravaOutage,
  StravaRateLimited,
  StravaTokenRevoked,
} from './strava.errors.js';
import { type DetailedActivity, type SummaryActivity, toDetail, toSummary } from './wire/activity.js';
import { faultOf } from './wire/fault.js';
import { type Photo, toPhoto } from './wire/photo.js';
import { unreadableItems } from './strava-metrics.js';
import { readRates } from './usage.js';
import { Id } from './wire/values.js';

/** For whom, how urgently and how patiently a call is made. */
export interface Who {
  readonly athleteId: string;
  readonly class: CallClass;
  readonly signal?: AbortSignal;
  /** How long it may wait in place near a window's boundary or for a slot. */
  readonly waitMs?: number;
  /** Asked with the budget's leave in hand, before each request: false takes the call back. */
  readonly claim?: () => Promise<boolean>;
}

export interface Listing {
  /** Both exclusive. */
  readonly before?: Date;
  readonly after?: Date;
  /** From 1. */
  readonly page?: number;
  /** 200 at most. */
  readonly perPage: number;
}

export interface ActivityChanges {
  readonly name?: string;
  readonly description?: string;
}

/** The channels of an activity by their key, as Strava sent them. */
export type RawStreams = Readonly<Record<string, unknown>>;

/** Names in metrics and in the ledger. */
type Endpoint = 'athlete' | 'activities' | 'activity' | 'streams' | 'photos' | 'update_activity';

type Ask = Pick<OutboundRequest, 'method' | 'body' | 'maxBytes' | 'repeatable'> & {
  readonly endpoint: Endpoint;
  readonly path: string;
  readonly holdsSlot?: boolean;
  readonly needsCounters?: boolean;
};

const LARGEST_PAGE = 200;
const PHOTO_SIZE = 2_048;
// Ten channels of a day at one sample a second take some 8 MB.
const STREAMS_MAX_BYTES = 24 * 1024 * 1024;
const QUARTER_MS = 900_000;

const Items = z.array(z.unknown());
const Athlete = z.object({ id: Id });
const Streams = z.record(z.string(), z.unknown());

/** Strava's API for one app and its athletes, within the budget. What it answers is ours; its wire shapes end here. */
export class StravaClient {
  constructor(
    private readonly apiUrl: string,
    private readonly caller: OutboundCaller,
    private readonly budget: CallBudget,
    private readonly tokens: AccessTokens,
    private readonly clock: Clock,
    private readonly scale: TimeScale,
  ) {}

  /** Whose token it is; the cheapest way to learn whether it lives. */
  athlete(who: Who): Promise<{ readonly id: string }> {
    return this.ask(who, { endpoint: 'athlete', method: 'GET', path: '/athlete' }, (json) =>
      Athlete.parse(json),
    );
  }

  /** Newest first; oldest first with `after`. An empty page is the end. */
  listActivities(who: Who, { before, after, page = 1, perPage }: Listing): Promise<SummaryActivity[]> {
    const query = new URLSearchParams({ page: `${page}`, per_page: `${Math.min(perPage, LARGEST_PAGE)}` });
    // Strava knows whole seconds. Rounded outwards, the bounds leave nothing out.
    if (before) query.set('before', `${Math.ceil(before.getTime() / 1_000)}`);
    if (after) query.set('after', `${Math.floor(after.getTime() / 1_000)}`);
    const path = `/athlete/activities?${query.toString()}`;
    return this.ask(who, { endpoint: 'activities', method: 'GET', path }, (json) =>
      readable('activities', Items.parse(json), toSummary),
    );
  }

  async activity(who: Who, id: string): Promise<DetailedActivity> {
    const path = activityPath(id);
    return this.ask(who, { endpoint: 'activity', method: 'GET', path, holdsSlot: true }, toDetail);
  }

  async photos(who: Who, id: string): Promise<Photo[]> {
    const path = `${activityPath(id)}/photos?size=${PHOTO_SIZE}&photo_sources=true`;
    return this.ask(who, { endpoint: 'photos', method: 'GET', path }, (json) =>
      readable('photos', Items.parse(json), toPhoto),
    );
  }

  /** Their shape is not looked at here, only their size. */
  async streams(who: Who, id: string, keys: readonly string[]): Promise<RawStreams> {
    const query = new URLSearchParams({ keys: keys.join(','), key_by_type: 'true' });
    const path = `${activityPath(id)}/streams?${query.toString()}`;
    const maxBytes = STREAMS_MAX_BYTES;
    const ask: Ask = {
      endpoint: 'streams',
      method: 'GET',
      path,
      maxBytes,
      holdsSlot: true,
      needsCounters: true,
    };
    return this.ask(who, ask, (json) => Streams.parse(json));
  }

  /** Asked once: where the answer is lost, whoever wanted it looks what is there before they ask again. */
  async updateActivity(
    who: Who,
    id: string,
    { name, description }: ActivityChanges,
  ): Promise<DetailedActivity> {
    const body = JSON.stringify({ name, description });
    return this.ask(
      who,
      { endpoint: 'update_activity', method: 'PUT', path: activityPath(id), body, repeatable: false },
      toDetail,
    );
  }

  private async ask<T>(who: Who, ask: Ask, read: (json: unknown) => T): Promise<T> {
    const { token } = await this.tokens.access(who.athleteId);
    const answer = await this.send(who, ask, token);
    if (answer.status !== 401) return readAnswer(answer, read);
    const other = await this.otherToken(who, answer, token);
    const again = await this.send(who, ask, other);
    if (again.status !== 401) return readAnswer(again, read);
    // Refused as well, though just issued: the athlete may have left in between, which the next refresh tells.
    await this.otherToken(who, again, other);
    throw new StravaOutage('it refuses the tokens that it issues');
  }

  /** The token to try after a 401; throws where another would not help. */
  private async otherToken(who: Who, { body }: OutboundAnswer, refused: string): Promise<string> {
    const scope = missingScope(faultOf(body));
    if (scope) throw new StravaForbidden(`${scope} is missing`);
    const verdict = await this.tokens.rejected(who.athleteId, refused);
    if (verdict === 'revoked') throw new StravaTokenRevoked(who.athleteId);
    return (await this.tokens.access(who.athleteId)).token;
  }

  /** An answer of any status but 429. */
  private async send(who: Who, ask: Ask, token: string): Promise<OutboundAnswer> {
    const { endpoint, path, method, body, maxBytes, repeatable, holdsSlot, needsCounters } = ask;
    const call = { endpoint, class: who.class, userId: who.athleteId, holdsSlot, needsCounters };
    const { claim, waitMs = 0 } = who;
    const meter = new BudgetMeter(this.budget, call, { readRates, waitMs, claim });
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const url = this.apiUrl + path;
    const request = { method, url, headers, body, maxBytes, repeatable, signal: who.signal };
    const outcome = await this.caller.call(request, meter).catch((cause: unknown) => {
      throw asStravas(cause);
    });
    switch (outcome.kind) {
      case 'refused':
        throw this.rateLimited(outcome.window, outcome.retryAfterMs);
      case 'unavailable':
        throw new StravaBudgetUnavailable();
      case 'unwanted':
        throw new CallUnwanted();
      case 'answered':
        if (outcome.answer.status !== 429) return outcome.answer;
        throw this.rateLimited(meter.closed?.window, meter.closed?.retryAfterMs, true);
    }
  }

  private rateLimited(
    window = 'read 15min',
    retryAfterMs = this.scale.wait(QUARTER_MS),
    isVendors = false,
  ): StravaRateLimited {
    return new StravaRateLimited(window, retryAfterMs, this.clock.nowMs(), isVendors);
  }
}

/** One odd item must not keep a whole history away. It is counted; where none can be read, the answer is what is odd. */
function readable<T>(endpoint: Endpoint, items: readonly unknown[], read: (item: unknown) => T): T[] {
  const found: T[] = [];
  let first: Error | undefined;
  for (const item of items)
    try {
      found.push(read(item));
    } catch (error) {
      first ??= error as Error;
      unreadableItems.inc({ endpoint });
    }
  if (first && found.length === 0) throw first;
  return found;
}

function activityPath(id: string): string {
  if (!/^\d{1,20}$/.test(id)) throw new StravaNotFound();
  return `/activities/${id}`;
}

/** How a call ended without an answer. An abort is the caller's own and stays what it is. */
function asStravas(cause: unknown): unknown {
  if (cause instanceof CallTimedOut) return new StravaOutage('no answer in time', { cause });
  if (cause instanceof ConnectionFailed) return new StravaOutage('the connection failed', { cause });
  if (cause instanceof AnswerTooLarge) return new StravaAnswerMalformed('too large', { cause });
  return cause;
}
