import { type Role } from '#platform';
import { ApiModule } from './api.module.js';
import { serveDocs } from './openapi.js';

export const api: Role = {
  name: 'api',
  module: ApiModule,
  port: (config) => config.http.port,
  prepare: serveDocs,
};
