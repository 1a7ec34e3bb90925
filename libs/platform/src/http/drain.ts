import { type FastifyInstance } from 'fastify';
import { type HealthRegistry } from '../health/health-registry.js';

/**
 * While we shut down, the answer to a request in hand ends its connection. Kept alive, it would hold the server open
 * until the keep-alive time-out, which is longer than the time we have.
 */
export function closeConnectionsWhenDraining(server: FastifyInstance, health: HealthRegistry): void {
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (health.isDraining()) void reply.header('connection', 'close');
    done();
  });
}
