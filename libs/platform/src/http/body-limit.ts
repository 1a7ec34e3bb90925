import { RouteConfig } from '@nestjs/platform-fastify';
import { type FastifyInstance } from 'fastify';

/** On a handler: how large its body may be, where that is less than for others. Larger ones are not read to their end. */
export const BodyLimit = (bytes: number) => RouteConfig({ bodyLimitBytes: bytes });

export function applyBodyLimits(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    const { bodyLimitBytes } = (route.config ?? {}) as { bodyLimitBytes?: number };
    if (bodyLimitBytes !== undefined) route.bodyLimit = bodyLimitBytes;
  });
}
