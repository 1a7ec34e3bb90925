import { readFileSync } from 'node:fs';
import formbody from '@fastify/formbody';
import Fastify, { type FastifyInstance } from 'fastify';
import { mountBroker } from './broker/broker.plugin.js';
import { mountControls } from './control/control.routes.js';
import { Core, type CoreOptions } from './core/index.js';
import { mountOura } from './oura/oura.plugin.js';
import { mountPolar } from './polar/polar.plugin.js';
import { StateFile } from './state-file.js';
import { mountStrava } from './strava/strava.plugin.js';
import { mountWhoop } from './whoop/whoop.plugin.js';

export interface SimulatorOptions extends CoreOptions {
  /** File that keeps the state. Without a file the state ends with the process. */
  readonly stateFile?: string;
}

interface Simulator {
  readonly app: FastifyInstance;
  readonly core: Core;
}

/** To use it in-process, call `await app.listen({ port: 0 })` and send HTTP requests. `app.close()` stops at once. */
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
  await mountPolar(app, core);
  await mountBroker(app, core);
  mountControls(app, core);
  mountPage(app);
  app.addHook('onClose', () => core.outbox.stop());
  if (stateFile !== undefined) keepIn(new StateFile(stateFile, core), app);
  return { app, core };
}

/**
 * Accepts an empty body with content type JSON. Some clients send this content type with a DELETE, and the vendors
 * accept such a request.
 */
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

/** Escapes a path that cannot be decoded, so that the vendor answers its own 404 instead of Fastify's 400. */
function readableUrl(url: string): string {
  const [path = '', ...query] = url.split('?');
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return [path.replaceAll('%', '%25'), ...query].join('?');
  }
}

const page = readFileSync(new URL('./page/page.html', import.meta.url), 'utf8');

function mountPage(app: FastifyInstance): void {
  app.get('/', (_request, reply) => {
    void reply.type('text/html; charset=utf-8').header('cache-control', 'no-store').send(page);
  });
}
