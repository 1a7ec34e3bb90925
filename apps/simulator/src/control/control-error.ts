import { type FastifyError, type FastifyInstance } from 'fastify';
import { z } from 'zod';

class ControlError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly details: readonly string[],
  ) {
    super(message);
  }
}

export function unknownId(field: string, id: string): ControlError {
  return new ControlError(404, 'Not found', [`${field}: there is no ${id}`]);
}

export function invalid(...details: string[]): ControlError {
  return new ControlError(400, 'Validation failed', details);
}

/** Answers every error of a control route as `{"error", "details": ["field: problem"]}`. */
export function answerControlErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | ControlError | z.ZodError, _request, reply) => {
    const { status, message, details } = asControlError(error);
    void reply.code(status).send({ error: message, details });
  });
  app.setNotFoundHandler((request) => {
    throw new ControlError(404, 'Not found', [`path: there is no ${request.method} ${request.url}`]);
  });
}

function asControlError(error: FastifyError | ControlError | z.ZodError): ControlError {
  if (error instanceof ControlError) return error;
  if (error instanceof z.ZodError) return invalid(...error.issues.map(describe));
  const status = error.statusCode ?? 500;
  if (status >= 500) console.error(error);
  return new ControlError(status, status < 500 ? 'Bad request' : 'Simulator error', [
    `body: ${error.message}`,
  ]);
}

/** Zod gives no path for an unknown field. The field's name is in `keys`. */
function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `${issue.keys.join(', ')}: unknown`;
  return `${issue.path.join('.') || 'body'}: ${issue.message}`;
}
