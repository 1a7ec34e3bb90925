import { type FastifyInstance } from 'fastify';
import { type Polar } from './polar.js';

/**
 * Polar has JSON and XML, and nobody documents which one it sends to a request that does not ask. With the habit
 * `without_accept: 'xml'` such an answer is XML. Its elements are named like the JSON fields; Polar's XML may differ.
 */
export function answerXmlWithoutAccept(app: FastifyInstance, { habits }: Polar): void {
  app.addHook('preSerialization', (request, reply, payload, done) => {
    const asksForJson = request.headers.accept?.includes('application/json') ?? false;
    if (habits.now.without_accept === 'json' || asksForJson) return done(null, payload);
    void reply
      .type('application/xml')
      .serializer((body: unknown) => `<?xml version="1.0"?>${element('answer', body)}`);
    done(null, payload);
  });
}

function element(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => element(name, item)).join('');
  return `<${name}>${contentOf(value)}</${name}>`;
}

function contentOf(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, inner]) => element(name, inner))
      .join('');
  }
  return value === null ? '' : escaped(typeof value === 'string' ? value : JSON.stringify(value));
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
