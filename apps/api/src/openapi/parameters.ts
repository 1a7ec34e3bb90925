import { type OpenAPIObject } from '@nestjs/swagger';

type PathItem = OpenAPIObject['paths'][string];
type Parameter = NonNullable<NonNullable<PathItem['get']>['parameters']>[number];

const METHODS = ['get', 'put', 'post', 'patch', 'delete'] as const;
const text = { type: 'string' } as const;

/**
 * Gives every operation exactly the parameters of its own path, also if the handler reads the path itself. A parameter without a
 * declared type becomes a string.
 */
export function withParameters(document: OpenAPIObject): OpenAPIObject {
  for (const [path, item] of Object.entries(document.paths)) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    for (const method of METHODS) {
      const operation = item[method];
      if (operation) operation.parameters = parametersOf(names, operation.parameters ?? []);
    }
  }
  return document;
}

function parametersOf(names: readonly string[], given: readonly Parameter[]): Parameter[] {
  const declared = given.filter((one) => !isInPath(one) || names.includes(one.name));
  const missing = names.filter((name) => !declared.some((one) => isInPath(one) && one.name === name));
  const added = missing.map((name) => ({ name, in: 'path' as const, required: true, schema: text }));
  return [...declared, ...added].map((one) => {
    if ('$ref' in one) return one;
    const schema = isTyped(one.schema) ? one.schema : { ...text, ...one.schema };
    return { ...one, ...(one.in === 'path' ? { required: true } : {}), schema };
  });
}

function isTyped(schema: object = {}): boolean {
  return 'type' in schema || '$ref' in schema;
}

function isInPath(one: Parameter): one is Exclude<Parameter, { $ref: string }> {
  return 'in' in one && one.in === 'path';
}
