import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  SetMetadata,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import { LRUCache } from 'lru-cache';
import { AthleteDirectory, Athletes, DeletedAthletes } from '#connections';
import {
  AppError,
  ATHLETE_REQUEST,
  type AthleteIdentity,
  type GuardedRequest,
  InvalidInput,
  isId,
  NotFound,
  OperatorActions,
  type Person,
  requestOf,
  type Requirements,
  type ServiceKey,
} from '#platform';

const WITHOUT_ATHLETE = Symbol('without athlete');
const SPANS_ATHLETES = Symbol('spans athletes');
/** The OpenAPI document derives the description of the header from this extension. */
export const SPANS_EXTENSION = 'x-spans-athletes';

/** For a handler that must not create the row of an athlete who has left. The athlete whom a key or an operator names may be unknown. */
export const WithoutAthlete = () => SetMetadata(WITHOUT_ATHLETE, true);

/** For a handler or controller that answers a service key without an athlete. It takes a `SpanningRequest`. */
export const SpansAthletes = () =>
  applyDecorators(SetMetadata(SPANS_ATHLETES, true), ApiExtension(SPANS_EXTENSION, true));

/** The header by which a service key or an operator names the athlete. The tokens of athletes ignore it. */
export const ATHLETE_HEADER = 'Pacekeeper-Athlete';

const NOTED_EVERY_MS = 60 * 60_000;
// A key has some 150 bytes. Beyond this number, the oldest reads are forgotten, and noted again when they recur.
const MOST_NOTED = 10_000;

/** A service key has not named the athlete. */
class AthleteRequired extends AppError {
  override readonly code = 'ATHLETE_REQUIRED';
  override readonly kind = 'invalid';
  override readonly details = [`${ATHLETE_HEADER}: is required with a service key`];
  constructor() {
    super(`Name the athlete in the header ${ATHLETE_HEADER}`);
  }
}

/**
 * Completes the caller with the athlete whom the request is about. It runs after the auth guard.
 *
 * - A session: has the id of the athlete's row, which exists as long as the session.
 * - An athlete's token: creates the athlete's row at the first request, and gives the caller the id of that row. For handlers with
 *   `WithoutAthlete` the row may be absent.
 * - A service key: the athlete that the header names. The athlete may have been deleted in the last 5 s.
 * - An operator whose `/v1` request has the header: that athlete; the audit log notes each such request. A GET request of a
 *   session is noted once an hour for each operator, athlete and route, in each process: a console reads a page again with each change.
 */
@Injectable()
class KnownAthleteGuard implements CanActivate {
  private readonly notedReads = new LRUCache<string, true>({ max: MOST_NOTED, ttl: NOTED_EVERY_MS });

  constructor(
    private readonly athletes: Athletes,
    private readonly directory: AthleteDirectory,
    private readonly actions: OperatorActions,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    const { caller, headers } = request;
    if (!caller) return true;
    const header = headers[ATHLETE_HEADER.toLowerCase()];
    if (caller.kind === 'service') return this.admitService(request, caller.key, header, context);
    if (header !== undefined && caller.role === 'admin' && namesAthletes(request))
      return this.admitOperator(request, caller, idIn(header), context);
    return this.admitAthlete(request, caller, context);
  }

  private admitAthlete(
    request: GuardedRequest,
    person: Person,
    context: ExecutionContext,
  ): boolean | Promise<boolean> {
    if (person.session) return true;
    const admit = (athleteId: string) => {
      if (person.athleteId !== athleteId) request.caller = { ...person, athleteId };
      return true;
    };
    const known = this.athletes.knownId(person);
    if (known !== undefined) return admit(known);
    if (Reflect.hasMetadata(WITHOUT_ATHLETE, context.getHandler())) return true;
    return this.athletes.ensure(person).then(admit);
  }

  private admitService(
    request: GuardedRequest,
    key: ServiceKey,
    header: string | string[] | undefined,
    context: ExecutionContext,
  ): boolean | Promise<boolean> {
    if (header === undefined) {
      if (spansAthletes(context)) return true;
      throw new AthleteRequired();
    }
    const admit = (athlete: AthleteIdentity) => {
      request.caller = { ...athlete, kind: 'service', key, actor: `key:${key.id}` };
      return true;
    };
    const id = idIn(header);
    const known = this.directory.recall(id);
    return known ? admit(known) : this.find(id, context).then(admit);
  }

  private async admitOperator(
    request: GuardedRequest,
    operator: Person,
    id: string,
    context: ExecutionContext,
  ): Promise<boolean> {
    const athlete = await this.find(id, context);
    await this.note(request, operator, id);
    request.caller = { ...operator, ...athlete, actor: `operator:${operator.subject}` };
    return true;
  }

  private async note(request: GuardedRequest, operator: Person, athleteId: string): Promise<void> {
    const { method, routeOptions } = request;
    const { subject: actor, session } = operator;
    const isRepeated = session !== undefined && method === 'GET';
    const read = `${athleteId} ${routeOptions.url} ${actor}`;
    if (isRepeated && this.notedReads.has(read)) return;
    const detail = { method, route: routeOptions.url };
    await this.actions.note({ actor, action: ATHLETE_REQUEST, target: athleteId, detail });
    if (isRepeated) this.notedReads.set(read, true);
  }

  /**
   * Throws the same NotFound as for an object of another athlete. For a handler with `WithoutAthlete`, an unknown athlete is returned with
   * only the id.
   */
  private async find(id: string, context: ExecutionContext): Promise<AthleteIdentity> {
    const athlete = await this.directory.find(id);
    if (athlete) return athlete;
    if (!Reflect.hasMetadata(WITHOUT_ATHLETE, context.getHandler())) throw new NotFound();
    return { athleteId: id, subject: '', issuer: '', account: '' };
  }
}

function idIn(header: string | string[]): string {
  const text = String(header);
  if (!isId(text)) throw new InvalidInput([`${ATHLETE_HEADER}: must be the id of an athlete`]);
  return text.toLowerCase();
}

/** False for routes of operators, and for those that are about the token or the session itself. */
function namesAthletes({ routeOptions }: GuardedRequest): boolean {
  return (routeOptions.config as Requirements).access === undefined;
}

function spansAthletes(context: ExecutionContext): boolean {
  return [context.getHandler(), context.getClass()].some((target) =>
    Reflect.hasMetadata(SPANS_ATHLETES, target),
  );
}

/** A module of its own, since global guards run in the order of their modules. */
@Module({ providers: [OperatorActions, { provide: APP_GUARD, useClass: KnownAthleteGuard }] })
export class KnownAthletesModule implements OnApplicationBootstrap {
  constructor(private readonly deletedAthletes: DeletedAthletes) {}

  onApplicationBootstrap(): void {
    this.deletedAthletes.listen();
  }
}
