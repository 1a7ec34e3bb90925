import { type FastifyInstance } from 'fastify';
import { requireAccess } from './access.js';
import { type ListQuery, pageOf } from './paging.js';
import { recoveryDocument } from './recovery-document.js';
import { sleepDocument } from './sleep-document.js';
import { NO_RESOURCE, WhoopProblem } from './whoop-problem.js';
import { type WhoopSleep } from './whoop-sleep.js';
import { type Whoop } from './whoop.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

type SleepId = { Params: { sleep_id: string } };
type CycleId = { Params: { cycle_id: string } };
type List = { Querystring: ListQuery };

export function sleepRoutes(app: FastifyInstance, whoop: Whoop): void {
  const { journal } = whoop;
  const sleepConfig = { endpoint: 'sleep' };
  const recoveryConfig = { endpoint: 'recovery' };

  app.get<List>('/v2/activity/sleep', { config: sleepConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:sleep');
    return pageOf(journal.sleepsOf(athleteId), request.query, sleepDocument);
  });

  app.get<SleepId>('/v2/activity/sleep/:sleep_id', { config: sleepConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:sleep');
    const { sleep_id: id } = request.params;
    if (!UUID.test(id)) throw new WhoopProblem(400, 'sleepId must be a UUID');
    return sleepDocument(owned(journal.sleep(id), athleteId));
  });

  app.get<CycleId>('/v2/cycle/:cycle_id/sleep', { config: { endpoint: 'cycle' } }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:sleep');
    return sleepDocument(owned(journal.sleepOfCycle(readCycleId(request.params)), athleteId));
  });

  app.get<CycleId>('/v2/cycle/:cycle_id/recovery', { config: recoveryConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:recovery');
    return recoveryDocument(owned(journal.sleepOfCycle(readCycleId(request.params)), athleteId));
  });

  app.get<List>('/v2/recovery', { config: recoveryConfig }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:recovery');
    const mainSleeps = journal.sleepsOf(athleteId).filter(({ night }) => !night.nap);
    return pageOf(mainSleeps, request.query, recoveryDocument);
  });
}

/** Somebody else's sleep is as unknown as one that never was. */
function owned(sleep: WhoopSleep | undefined, athleteId: string): WhoopSleep {
  if (sleep?.athleteId !== athleteId) throw new WhoopProblem(404, NO_RESOURCE);
  return sleep;
}

function readCycleId({ cycle_id: text }: { cycle_id: string }): number {
  if (!/^\d{1,15}$/.test(text)) throw new WhoopProblem(400, 'cycleId must be a whole number');
  return Number(text);
}
