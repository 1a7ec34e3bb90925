import { type FastifyInstance } from 'fastify';
import { NO_RESOURCE, requireAccess, WhoopProblem } from './whoop-problem.js';
import { cycleDocument, cyclesOf } from './cycle-document.js';
import { type ListQuery, pageOf } from './paging.js';
import { recoveryDocument, sleepDocument } from './sleep-document.js';
import { type WhoopSleep } from './whoop-journal.js';
import { type Whoop } from './whoop.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

type SleepId = { Params: { sleep_id: string } };
type CycleId = { Params: { cycle_id: string } };
type List = { Querystring: ListQuery };

export function sleepRoutes(app: FastifyInstance, whoop: Whoop): void {
  const { journal } = whoop;
  const sleepConfig = { endpoint: 'sleep' };
  const recoveryConfig = { endpoint: 'recovery' };
  const cycleConfig = { endpoint: 'cycle' };
  const mainSleepsOf = (athleteId: string) => journal.sleepsOf(athleteId).filter(({ night }) => !night.nap);

  app.get<List>('/v2/activity/sleep', { config: sleepConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:sleep');
    return pageOf(journal.sleepsOf(athleteId), request.query, nightOf, sleepDocument);
  });

  app.get<SleepId>('/v2/activity/sleep/:sleep_id', { config: sleepConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:sleep');
    const { sleep_id: id } = request.params;
    if (!UUID.test(id)) throw new WhoopProblem(400, 'sleepId must be a UUID');
    return sleepDocument(owned(journal.sleep(id), athleteId));
  });

  app.get<CycleId>('/v2/cycle/:cycle_id/sleep', { config: cycleConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:sleep');
    return sleepDocument(owned(journal.sleepOfCycle(readCycleId(request.params)), athleteId));
  });

  app.get<CycleId>('/v2/cycle/:cycle_id/recovery', { config: recoveryConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:recovery');
    return recoveryDocument(owned(journal.sleepOfCycle(readCycleId(request.params)), athleteId));
  });

  app.get<List>('/v2/recovery', { config: recoveryConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:recovery');
    return pageOf(mainSleepsOf(athleteId), request.query, nightOf, recoveryDocument);
  });

  app.get<List>('/v2/cycle', { config: cycleConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:cycles');
    return pageOf(cyclesOf(mainSleepsOf(athleteId)), request.query, (cycle) => cycle, cycleDocument);
  });

  app.get<CycleId>('/v2/cycle/:cycle_id', { config: cycleConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:cycles');
    const id = readCycleId(request.params);
    const cycle = cyclesOf(mainSleepsOf(athleteId)).find(({ sleep }) => sleep.cycleId === id);
    if (!cycle) throw new WhoopProblem(404, NO_RESOURCE);
    return cycleDocument(cycle);
  });
}

function nightOf({ night }: WhoopSleep): WhoopSleep['night'] {
  return night;
}

/** A request for another person's sleep gets the same 404 as a request for an unknown sleep. */
function owned(sleep: WhoopSleep | undefined, athleteId: string): WhoopSleep {
  if (sleep?.athleteId !== athleteId) throw new WhoopProblem(404, NO_RESOURCE);
  return sleep;
}

function readCycleId({ cycle_id: text }: { cycle_id: string }): number {
  if (!/^\d{1,15}$/.test(text)) throw new WhoopProblem(400, 'cycleId must be a whole number');
  return Number(text);
}
