import { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { answerControlErrors } from '../control/control-error.js';
import { type ViewingPolicy } from './policy.js';

const Rule = z.strictObject({
  clients: z.array(z.string()).optional(),
  episodes: z.array(z.string()).optional(),
  everything: z.boolean().optional(),
});

/** `PUT /broker/__sim/policy {"clients": ["tv-1"]}` blocks more clients or episodes. DELETE restores the fixed rules. */
export function policyRoutes(app: FastifyInstance, policy: ViewingPolicy): void {
  void app.register(
    (sim, _options, done) => {
      answerControlErrors(sim);
      sim.get('/policy', () => policy.save());
      sim.put('/policy', ({ body }) => {
        policy.block(Rule.parse(body ?? {}));
        return policy.save();
      });
      sim.delete('/policy', () => {
        policy.reset();
        return policy.save();
      });
      done();
    },
    { prefix: '/__sim' },
  );
}
