export { BackfillForecast } from './backfill-forecast.js';
export { BackfillModule } from './backfill.module.js';
export { Backfill } from './backfill.js';
