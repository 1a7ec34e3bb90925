import { readFileSync } from 'node:fs';
import { type FastifyInstance } from 'fastify';

const page = readFileSync(new URL('./page.html', import.meta.url), 'utf8');

export function mountPage(app: FastifyInstance): void {
  app.get('/', (_request, reply) => {
    void reply.type('text/html; charset=utf-8').header('cache-control', 'no-store').send(page);
  });
}
