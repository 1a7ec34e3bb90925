import { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type OuraEvents } from './oura-events.js';

const Habits = z.object({
  timestamp_unit: z.enum(['ms', 's']).optional(),
  retry_timestamp: z.enum(['fresh', 'first']).optional(),
});

/** Oura's open questions as switches: `PUT /oura/__sim/delivery {"retry_timestamp": "first"}`. */
export function deliveryHabitsRoutes(app: FastifyInstance, events: OuraEvents): void {
  app.put('/__sim/delivery', ({ body }, reply) => {
    const parsed = Habits.safeParse(body);
    if (!parsed.success)
      return reply.code(400).send({ error: 'timestamp_unit is ms or s, retry_timestamp fresh or first' });
    const { timestamp_unit, retry_timestamp } = parsed.data;
    events.habits.timestampUnit = timestamp_unit ?? events.habits.timestampUnit;
    events.habits.retryTimestamp = retry_timestamp ?? events.habits.retryTimestamp;
    return events.habits;
  });
}
