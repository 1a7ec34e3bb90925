import { Counter } from 'prom-client';

export const comparedRecords = new Counter({
  name: 'sleep_compared_records_total',
  help: "Records in which a vendor's list differed from what was held",
  labelNames: ['vendor', 'result'],
});
