import { RouteConfig } from '@nestjs/platform-fastify';

const { KEY } = RouteConfig({});

/**
 * Adds facts to the configuration of a route, for Fastify's hooks. It decorates one handler, or a controller for all its handlers. Several
 * `RouteFacts` of a handler add up; a second `RouteConfig` would overwrite the first. If handler and controller set the same fact, the
 * handler's value wins.
 */
export function RouteFacts(facts: Readonly<Record<string, unknown>>): MethodDecorator & ClassDecorator {
  return (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor) => {
    if (descriptor) addFacts(descriptor.value as object, facts);
    else for (const handler of methodsOf(target as new () => object)) addFacts(handler, facts);
  };
}

function addFacts(handler: object, facts: Readonly<Record<string, unknown>>): void {
  const known = Reflect.getMetadata(KEY, handler) as Readonly<Record<string, unknown>> | undefined;
  Reflect.defineMetadata(KEY, { ...facts, ...known }, handler);
}

function methodsOf({ prototype }: new () => object): object[] {
  return Object.values(Object.getOwnPropertyDescriptors(prototype))
    .map(({ value }) => value as unknown)
    .filter(
      (value) => typeof value === 'function' && value !== (prototype as object).constructor,
    ) as object[];
}
