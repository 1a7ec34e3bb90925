import formbody from '@fastify/formbody';
import Fastify, { type FastifyInstance } from 'fastify';
import { mountBroker } from './broker/broker.plugin.js';
import { mountControls } from './control/control.routes.js';
import { Core, type CoreOptions, readableUrl } from './core/index.js';
import { mountOura } from './oura/oura.plugin.js';
import { mountPage } from './page/page.routes.js';
import { StateFile } from './state-file.js';
import { mountStrava } from './strava/strava.plugin.js';
import { mountWhoop } from './whoop/whoop.plugin.js';

export interface SimulatorOptions extends CoreOptions {
  /** Where the state outlives the process; in memory alone when left out. */
  readonly stateFile?: string;
}

export interface Simulator {
  readonly app: FastifyInstance;
  readonly core: Core;
}

/** Usable in-process: `await app.listen({ port: 0 })`, then talk to it over HTTP; `app.close()` ends it at once. */
export async function createSimulator({ stateFile, ...options }: SimulatorOptions = {}): Promise<Simulator> {
  const core = new Core(options);
  const app = Fastify({
    forceCloseConnections: true,
    bodyLimit: 1_048_576,
    routerOptions: { ignoreTrailingSlash: true },
    rewriteUrl: ({ url }) => readableUrl(url ?? '/'),
  });
  await app.register(formbody);
  acceptEmptyJson(app);
  await mountStrava(app, core);
  await mountOura(app, core);
  await mountWhoop(app, core);
  await mountBroker(app, core);
  mountControls(app, core);
  mountPage(app);
  app.addHook('onClose', () => core.outbox.stop());
  if (stateFile !== undefined) keepIn(new StateFile(stateFile, core), app);
  return { app, core };
}

/** Clients that name a content type on every call send it with a DELETE too; the vendors do not mind. */
function acceptEmptyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    if (text === '') done(null, undefined);
    else void parse(request, text, done);
  });
}

function keepIn(file: StateFile, app: FastifyInstance): void {
  file.open();
  app.addHook('onClose', () => file.close());
}
