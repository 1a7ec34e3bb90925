import { type FastifyInstance } from 'fastify';
import { errorAnswer, sendError } from './error-answer.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Records the routes of a server as they are declared, to answer 405 for other methods of known paths. */
export class RouteTable {
  private readonly methods = new Map<string, Set<string>>();

  constructor(private readonly server: FastifyInstance) {
    server.addHook('onRoute', ({ url, method }) => {
      const known = this.methods.get(url) ?? new Set();
      for (const one of [method].flat()) known.add(one);
      this.methods.set(url, known);
    });
  }

  /** Every route as `METHOD path`, in the order of declaration. */
  all(): string[] {
    return [...this.methods].flatMap(([url, methods]) => [...methods].map((method) => `${method} ${url}`));
  }

  /**
   * Answers 405 with `Allow` for methods that a known path lacks, before the body is read. Call this method after all routes are
   * registered. It adds no 405 for a method if another pattern that matches the path handles this method.
   */
  answerOtherMethods(): void {
    const declared = new Map([...this.methods].map(([url, methods]) => [url, new Set(methods)]));
    for (const [url, own] of declared) {
      const others = METHODS.filter(
        (method) =>
          !own.has(method) && !isAnswered(url, method, declared) && !this.methods.get(url)?.has(method),
      );
      if (others.length > 0) this.refuse(url, others, allowed(url, declared));
    }
  }

  private refuse(url: string, methods: readonly string[], allow: string): void {
    this.server.route({
      url,
      method: [...methods] as never,
      // In an early hook, so that the body is not read.
      onRequest: (request, reply, _done) => {
        void reply.header('allow', allow);
        sendError(reply, errorAnswer({ statusCode: 405 }), request.id);
      },
      handler: (_request, reply) => reply.callNotFound(),
      config: { access: 'public' },
    });
  }
}

type Declared = ReadonlyMap<string, ReadonlySet<string>>;

/** True if another pattern has the method for the same paths: `/a/:id` for `/a/latest`. */
function isAnswered(url: string, method: string, declared: Declared): boolean {
  return [...declared].some(([other, methods]) => other !== url && methods.has(method) && covers(other, url));
}

function allowed(url: string, declared: Declared): string {
  const methods = new Set(
    [...declared].filter(([other]) => other === url || covers(other, url)).flatMap(([, own]) => [...own]),
  );
  return METHODS.filter((method) => methods.has(method)).join(', ');
}

function covers(pattern: string, url: string): boolean {
  const parts = pattern.split('/');
  const segments = url.split('/');
  if (parts.at(-1) === '*' && segments.length >= parts.length)
    return parts.slice(0, -1).every((part, at) => fits(part, segments[at] ?? ''));
  return parts.length === segments.length && parts.every((part, at) => fits(part, segments[at] ?? ''));
}

const fits = (part: string, segment: string) => part === segment || /^:\w+$/.test(part);
