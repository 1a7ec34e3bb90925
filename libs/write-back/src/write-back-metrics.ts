import { Counter } from 'prom-client';

export const writeBacks = new Counter({
  name: 'write_backs_total',
  help: 'Attempts to write our words to the vendor, by how they ended',
  labelNames: ['result'],
});
