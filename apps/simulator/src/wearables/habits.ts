import { type FastifyInstance } from 'fastify';
import { type z } from 'zod';
import { answerControlErrors } from '../control/control-error.js';
import { type Core, type StatePart, type Vendor } from '../core/index.js';

/**
 * Settings for behaviour that a vendor does not document. Habits belong to the vendor and not to an athlete, so a reset
 * of the world keeps them.
 */
export class Habits<Schema extends z.ZodObject> implements StatePart<z.infer<Schema>> {
  private values: z.infer<Schema>;

  constructor(
    core: Core,
    vendor: Vendor,
    private readonly schema: Schema,
    asNew: z.infer<Schema>,
  ) {
    this.values = asNew;
    core.memory.keep(`${vendor} habits`, this);
  }

  get now(): z.infer<Schema> {
    return this.values;
  }

  /** Throws a `ZodError` that names the field. */
  change(body: unknown): void {
    this.values = { ...this.values, ...this.schema.partial().parse(body ?? {}) };
  }

  save(): z.infer<Schema> {
    return this.values;
  }

  restore(saved: z.infer<Schema>): void {
    this.values = saved;
  }
}

/** `GET` and `PUT {vendor}/__sim/habits`, and the vendor's own control routes. */
export function habitsRoutes<Schema extends z.ZodObject>(
  app: FastifyInstance,
  habits: Habits<Schema>,
  ownControls: (sim: FastifyInstance) => void = () => undefined,
): void {
  void app.register(
    (sim, _options, done) => {
      answerControlErrors(sim);
      sim.get('/habits', () => habits.now);
      sim.put('/habits', ({ body }) => {
        habits.change(body);
        return habits.now;
      });
      ownControls(sim);
      done();
    },
    { prefix: '/__sim' },
  );
}
