import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { requireUser } from './access.js';
import { availableSleep, dateOf, nightDocument } from './night-document.js';
import { PolarProblem } from './polar-problem.js';
import { type Polar } from './polar.js';

type WithDate = FastifyRequest<{ Params: { date: string } }>;

export function sleepRoutes(app: FastifyInstance, polar: Polar): void {
  const config = { endpoint: 'sleep' };
  const { habits } = polar;

  app.get('/v3/users/sleep', { config }, (request) => {
    const nights = polar.visibleNights(requireUser(polar, request));
    return { nights: nights.map((night) => nightDocument(night, habits.now)) };
  });

  app.get('/v3/users/sleep/available', { config }, (request) => {
    return {
      available: polar
        .visibleNights(requireUser(polar, request))
        .map((night) => availableSleep(night, habits.now)),
    };
  });

  app.get('/v3/users/sleep/:date', { config }, (request: WithDate) => {
    const user = requireUser(polar, request);
    const { date } = request.params;
    if (!isDate(date)) throw new PolarProblem(400, 'date must be YYYY-MM-DD');
    const found = polar.visibleNights(user).find(({ night }) => dateOf(night, habits.now) === date);
    if (!found) throw new PolarProblem(404, 'There is no sleep on this date');
    return nightDocument(found, habits.now);
  });
}

function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text;
}
