import { gzipSync } from 'node:zlib';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { requireUser } from './access.js';
import { exerciseDocument, type Extras } from './exercise-document.js';
import { gpxOf, tcxOf } from './exercise-files.js';
import { type PolarExercise } from './exercise-log.js';
import { PolarProblem } from './polar-problem.js';
import { type Polar } from './polar.js';
import { type Recording, recordingOf } from './recording.js';

type Query = Readonly<Record<string, string | string[] | undefined>>;
type List = FastifyRequest<{ Querystring: Query }>;
type WithId = FastifyRequest<{ Params: { id: string }; Querystring: Query }>;

export function exerciseRoutes(app: FastifyInstance, polar: Polar): void {
  const { habits } = polar;
  const files = { endpoint: 'files' };

  app.get('/v3/exercises', { config: { endpoint: 'exercises' } }, (request: List, reply) => {
    const visible = polar.visibleExercises(requireUser(polar, request));
    if (visible.length === 0 && habits.now.empty_list_status === 204) return reply.code(204).send();
    if (habits.now.list_order === 'newest_first') visible.reverse();
    const extras = extrasIn(request.query);
    return reply.send(visible.map((exercise) => exerciseDocument(exercise, habits.now, extras)));
  });

  app.get('/v3/exercises/:id', { config: { endpoint: 'exercise' } }, (request: WithId) =>
    exerciseDocument(visible(polar, request), habits.now, extrasIn(request.query)),
  );

  // The simulator makes no FIT file, so every session is like one without.
  app.get('/v3/exercises/:id/fit', { config: files }, (request: WithId, reply) => {
    visible(polar, request);
    if (habits.now.no_fit_status === 404) throw new PolarProblem(404, 'There is no FIT file');
    return reply.code(204).send();
  });

  app.get('/v3/exercises/:id/tcx', { config: files }, (request: WithId, reply) => {
    const { exercise, recording } = recorded(polar, request);
    return sendTcx(reply, tcxOf(exercise, recording, habits.now), habits.now.tcx_gzip);
  });

  app.get('/v3/exercises/:id/gpx', { config: files }, (request: WithId, reply) => {
    const { exercise, recording } = recorded(polar, request);
    if (!recording.hasRoute) throw new PolarProblem(404, 'The exercise has no route');
    return reply.type('application/gpx+xml').send(gpxOf(exercise, recording));
  });
}

function extrasIn({ samples, zones, route }: Query): Extras {
  return { samples: samples === 'true', zones: zones === 'true', route: route === 'true' };
}

/** The session of another user gets the same 404 as an unknown one. */
function visible(polar: Polar, request: WithId): PolarExercise {
  const user = requireUser(polar, request);
  const exercise = polar.visibleExercises(user).find(({ id }) => id === request.params.id);
  if (!exercise) throw new PolarProblem(404, 'There is no such exercise');
  return exercise;
}

function recorded(polar: Polar, request: WithId): { exercise: PolarExercise; recording: Recording } {
  const exercise = visible(polar, request);
  const recording = recordingOf(exercise, polar.habits.now.pauses);
  if (!recording) throw new PolarProblem(404, 'The exercise has no recording');
  return { exercise, recording };
}

function sendTcx(reply: FastifyReply, xml: string, gzip: 'encoding' | 'body'): FastifyReply {
  if (gzip === 'encoding') void reply.header('content-encoding', 'gzip');
  return reply.type('application/vnd.garmin.tcx+xml').send(gzipSync(xml));
}
