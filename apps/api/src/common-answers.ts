import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { ErrorAnswer } from '#platform';

const content = { 'application/json': { schema: { $ref: getSchemaPath(ErrorAnswer) } } };
export const retryAfter = {
  'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer' as const } },
};

// What the guards in front of every route with a caller may answer.
const COMMON = {
  401: { description: 'The token is missing or invalid', content },
  429: { description: 'More than the requests of a minute', content, headers: retryAfter },
  503: { description: 'A server that this needs is away; ask again', content, headers: retryAfter },
};

/** No controller has to name them; one that has something of its own to say about them is left its word. */
export function withCommonAnswers(document: OpenAPIObject): OpenAPIObject {
  const operations = Object.values(document.paths).flatMap((path) => [
    path.get,
    path.put,
    path.post,
    path.patch,
    path.delete,
  ]);
  for (const operation of operations)
    if (operation?.security?.some((need) => 'bearer' in need))
      operation.responses = { ...COMMON, ...operation.responses };
  return document;
}
