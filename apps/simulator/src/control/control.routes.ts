import { type FastifyInstance } from 'fastify';
import { type Core } from '../core/index.js';
import { activityControls } from './activity.routes.js';
import { athleteControls } from './athlete.routes.js';
import { answerControlErrors } from './control-error.js';
import { faultControls } from './fault.routes.js';
import { sleepControls } from './sleep.routes.js';
import { viewControls } from './view.routes.js';

/** `/__sim`: the strings behind the vendors. Not counted, not limited, never hit by a fault. */
export function mountControls(app: FastifyInstance, core: Core): void {
  void app.register(
    (sim, _options, done) => {
      answerControlErrors(sim);
      athleteControls(sim, core);
      activityControls(sim, core);
      sleepControls(sim, core);
      faultControls(sim, core);
      viewControls(sim, core);
      done();
    },
    { prefix: '/__sim' },
  );
}
