import { Counter } from 'prom-client';

export const unreadableItems = new Counter({
  name: 'strava_unreadable_items_total',
  help: 'Items of a list that were left out because they could not be read',
  labelNames: ['endpoint'],
});
