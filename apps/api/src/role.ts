import { allowOrigins, type Role } from '#platform';
import { ADDON_PATH, routableUrl } from '#playback';
import { openToAnyOrigin } from './addon/addon-http.js';
import { acceptForms } from './connections/consent-form.js';
import { sendFiles } from './console/console.controller.js';
import { ApiModule } from './api.module.js';
import { serveDocs } from './openapi/docs-page.js';

export const api: Role = {
  name: 'api',
  module: ApiModule,
  port: (config) => config.http.port,
  prepare: async (app, { http }) => {
    const server = app.getHttpAdapter().getInstance();
    if (http.hasDocs) serveDocs(app, http.publicUrl);
    acceptForms(server);
    await sendFiles(server);
    openToAnyOrigin(server, ADDON_PATH);
    allowOrigins(server, '/v1', http.corsOrigins);
  },
  rewriteUrl: routableUrl,
};
