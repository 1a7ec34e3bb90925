export { BackfillForecast } from './backfill-forecast.js';
export { BackfillModule, BackfillWorkModule } from './backfill.module.js';
export { Backfill } from './backfill.js';
export { BACKFILLED, queueOf } from './backfill-ticks.js';
