import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ErrorAnswer } from '#platform';
import { withCommonAnswers } from './common-answers.js';
import { withPathParameters } from './path-parameters.js';

export function describeApi(app: NestFastifyApplication): OpenAPIObject {
  const facts = new DocumentBuilder()
    .setTitle('Pacekeeper')
    .setDescription(
      'Activities, streams and sleep from the vendors, within their limits, none lost or doubled.',
    )
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addBearerAuth()
    .addApiKey({ type: 'apiKey', in: 'header', name: 'x-api-key' }, 'ingest-key')
    .build();
  const document = SwaggerModule.createDocument(app, facts, { extraModels: [ErrorAnswer] });
  return withPathParameters(withCommonAnswers(document));
}

/** `/docs` for people, `/openapi.json` for programs. */
export function serveDocs(app: NestFastifyApplication): void {
  SwaggerModule.setup('docs', app, () => describeApi(app), {
    jsonDocumentUrl: 'openapi.json',
    customSiteTitle: 'Pacekeeper API',
  });
}
