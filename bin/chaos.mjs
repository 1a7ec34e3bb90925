// npm run chaos [name]: runs one long test of faults or all of them, and prints what was tried, lost and doubled.
import './launcher/node-version.mjs';
import { find } from './launcher/programs.mjs';
import { runPrograms } from './launcher/run-programs.mjs';
import { clusterNats } from './launcher/test-programs.mjs';

// Not installed here: without PgBouncer, a test of faults leaves its part out and says so.
const pooler = find('pgbouncer');
if (pooler) process.env.PGBOUNCER_PATH ??= pooler.file;
await runPrograms({
  folder: 'dist/test/chaos',
  suffix: '.chaos.js',
  kind: 'test of faults',
  isDurable: false,
  prepare: async (children) => ({ NATS_CLUSTER_PATH: await clusterNats(children) }),
});
