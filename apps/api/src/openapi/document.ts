import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { buildInfo, ErrorAnswer } from '#platform';
import { CSRF_TOKEN, SERVICE_KEY, SESSION, withCommonAnswers } from './common-answers.js';
import { ERROR_CODES } from './error-codes.js';
import { withParameters } from './parameters.js';

/** The groups of the document, in the order in which an app developer needs them. */
const TAGS = {
  connections: 'Connect an athlete’s account at a vendor, and disconnect it.',
  activities: 'Read the activities that have been imported.',
  streams: 'Read what a device recorded second by second: heart rate, position, power, …',
  processing: 'Have an activity analysed again, and read what the analysis found.',
  imports: 'Import a history, and follow its progress.',
  sleep: 'Read nights, and send nights of vendors that are not connected here.',
  apps: 'Follow everything that changes, from your own backend or from a live page.',
  athletes: 'List and create athletes, with a service key.',
  webhooks: 'Get changes posted to endpoints of your backend, signed by the Standard Webhooks specification.',
  account: 'Read the athlete of a token, export everything that is stored, delete it.',
  console: 'Sign a browser in and out. The console at `/console` uses these routes.',
  admin: 'Operate the service. Needs a token with `role: admin`.',
  operations: 'Probes and the version, for operators.',
  'add-on':
    'A Stremio add-on with guided workouts. Every JSON route also works below `/addon/{session}/`, where the session (1 to 64 of `A-Z a-z 0-9 _ -`) identifies the viewer. Without a session, the client’s IP address identifies the viewer.',
  'vendor webhooks': 'Vendors call these; apps do not.',
} as const;

const DESCRIPTION = `Activities, streams and sleep from Strava, Oura, WHOOP and Polar: never over a vendor's limit, never a lost or doubled record, always able to say when the rest will arrive.

**Get a token.** With \`npm start\` running, \`npm run token -- --athlete <id>\` prints one; \`.local/run.json\` has three tokens that are ready to use (\`tokens.athlete\`, \`tokens.other\`, \`tokens.admin\`). In production your identity provider issues the tokens. Send the token as \`Authorization: Bearer <token>\`. On this page, press **Authorize** and paste the token.

**Service keys.** The app’s own backend sends a service key (\`pk_…\`) in place of a token, and names the athlete in the header \`Pacekeeper-Athlete\`. An operator creates keys with \`POST /admin/keys\` or \`npm run key\`; \`.local/run.json\` has one (\`service_key\`). A key needs the scope that the operation names.

**Errors.** Every error has the same shape. Its \`code\` is for programs and never changes. Beside the statuses that an operation lists, any request may be answered with 405 (the path does not have this method), 408 (the request did not arrive within 30 s), 414, 417, 431 (the URL or the headers are not acceptable) or 500 (a bug). A request for another athlete’s object is answered with 404.

**Limits.** 600 requests a minute per athlete, 6,000 per service key. \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` say what is left; a 429 says in \`Retry-After\` when to come back.

**Lists** are \`{"items": […], "next_cursor": …}\`: pass \`next_cursor\` as \`cursor\` to get the next page; null ends the list. Times are ISO 8601 in UTC. Ids of vendors are strings.`;

export function describeApi(app: NestFastifyApplication, publicUrl: string): OpenAPIObject {
  const facts = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Pacekeeper API')
    .setDescription(DESCRIPTION)
    .setVersion(buildInfo.version)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    // Relative first, so that trying an operation in the page works under any host name.
    .addServer('/', 'This server')
    .addServer(publicUrl, '`PUBLIC_URL`')
    .addBearerAuth({ type: 'http', description: 'A JWT; `npm run token` prints one for development' })
    .addBearerAuth(
      {
        type: 'http',
        bearerFormat: 'pk_…',
        description:
          'A service key (`pk_…`) of the app’s own backend, with the scope that the operation names',
      },
      SERVICE_KEY,
    )
    .addCookieAuth(
      'pacekeeper_session',
      {
        type: 'apiKey',
        in: 'cookie',
        description:
          'The cookie of `POST /v1/session`, named `__Host-pacekeeper_session` if `PUBLIC_URL` is https. It is ignored beside `Authorization`',
      },
      SESSION,
    )
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'X-CSRF-Token',
        description:
          'The `csrf_token` of the session, for its requests that are not a GET or HEAD. It admits nothing by itself',
      },
      CSRF_TOKEN,
    )
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'x-api-key',
        description: 'One of `INGEST_API_KEYS`, or a service key with the scope `ingest`',
      },
      'ingest-key',
    );
  for (const [name, description] of Object.entries(TAGS)) facts.addTag(name, description);
  const document = SwaggerModule.createDocument(app, facts.build(), {
    extraModels: [ErrorAnswer],
    // An operation without its own id gets a default that a test refuses.
    operationIdFactory: (controller, method) => `${controller}_${method}`,
  });
  withErrorCodes(document);
  withoutSessions(document);
  return withCommonAnswers(withParameters(document));
}

function withErrorCodes({ components }: OpenAPIObject): void {
  for (const name of ['ErrorAnswer', 'ConsentErrorAnswer', 'CursorExpiredAnswer']) {
    const { properties } = components?.schemas?.[name] as { properties: Record<string, object> };
    properties['code'] = { ...properties['code'], enum: ERROR_CODES };
  }
}

/** Leaves out the add-on's second set of routes: they have a session in front. The tag `add-on` describes them. */
function withoutSessions({ paths }: OpenAPIObject): void {
  for (const path of Object.keys(paths)) if (path.startsWith('/addon/{session}/')) delete paths[path];
}
