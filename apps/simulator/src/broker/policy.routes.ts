import { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type ViewingPolicy } from './policy.js';

const Rule = z.strictObject({
  clients: z.array(z.string()).optional(),
  episodes: z.array(z.string()).optional(),
  everything: z.boolean().optional(),
});

/** The switch: `PUT /broker/__sim/policy {"clients": ["tv-1"]}` blocks more, DELETE goes back to the fixed rules. */
export function policyRoutes(app: FastifyInstance, policy: ViewingPolicy): void {
  app.get('/__sim/policy', () => policy.save());

  app.put('/__sim/policy', ({ body }, reply) => {
    const rule = Rule.safeParse(body);
    if (!rule.success) {
      return reply
        .code(400)
        .send({ error: 'Validation failed', details: ['expected clients, episodes, everything'] });
    }
    policy.block(rule.data);
    return policy.save();
  });

  app.delete('/__sim/policy', () => {
    policy.reset();
    return policy.save();
  });
}
