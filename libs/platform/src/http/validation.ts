import { type ValidationError, ValidationPipe } from '@nestjs/common';
import { InvalidInput } from '../errors/app-error.js';

/** Bodies and queries become instances of their classes, or a 400 that names each field. Unknown fields are refused. */
export function validationPipe(): ValidationPipe {
  return new ValidationPipe({
    transform: true,
    whitelist: true,
    forbidNonWhitelisted: true,
    exceptionFactory: (errors) => new InvalidInput(errors.flatMap((error) => problems(error))),
  });
}

function problems(error: ValidationError, parent = ''): string[] {
  const field = parent + error.property;
  const own = Object.entries(error.constraints ?? {}).map(([rule, text]) =>
    rule === 'whitelistValidation'
      ? `${field}: unknown field`
      : `${field}: ${text.replace(`${error.property} `, '')}`,
  );
  return [...own, ...(error.children ?? []).flatMap((child) => problems(child, `${field}.`))];
}
