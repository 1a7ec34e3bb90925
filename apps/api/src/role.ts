import { type Role } from '#platform';
import { ADDON_PATH, routableUrl } from '#playback';
import { openToAnyOrigin } from './addon/open-to-any-origin.js';
import { ApiModule } from './api.module.js';
import { serveDocs } from './openapi.js';

export const api: Role = {
  name: 'api',
  module: ApiModule,
  port: (config) => config.http.port,
  prepare: (app) => {
    serveDocs(app);
    openToAnyOrigin(app.getHttpAdapter().getInstance(), ADDON_PATH);
  },
  rewriteUrl: routableUrl,
};
