import { type Role } from '#platform';
import { WorkerModule } from './worker.module.js';

export const worker: Role = {
  name: 'worker',
  module: WorkerModule,
  port: (config) => config.http.workerPort,
};
