import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { ValidateBy, type ValidationArguments } from 'class-validator';

// Dates outside these bounds are mistakes; Postgres also rejects some dates that JavaScript accepts.
const EARLIEST = new Date('1900-01-01T00:00:00Z');
const LATEST = new Date('2200-01-01T00:00:00Z');

// JavaScript's own parser also accepts "1" or "Jan 1", and engines differ.
const ISO = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** Validates a date, or a date and time, of ISO 8601. Without a zone it is UTC. The error says in one line what is wrong. */
export const IsDateTime = () =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => dateOf(value) ?? value),
    ValidateBy({
      name: 'isDateTime',
      validator: {
        validate: (value: unknown) => value instanceof Date && value >= EARLIEST && value <= LATEST,
        defaultMessage: (tried?: ValidationArguments) =>
          tried?.value instanceof Date
            ? 'must be between the years 1900 and 2200'
            : 'must be an ISO 8601 date-time',
      },
    }),
  );

function dateOf(value: unknown): Date | undefined {
  const [text, zone] = (typeof value === 'string' && ISO.exec(value)) || [];
  if (!text || !isOnCalendar(text)) return undefined;
  const date = new Date(text.includes('T') && !zone ? `${text}Z` : text);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** False for a day such as 30 February, which JavaScript reads as a day of March. */
function isOnCalendar(text: string): boolean {
  const day = text.slice(0, 10);
  const date = new Date(day);
  return Number.isNaN(date.getTime()) || date.toISOString().startsWith(day);
}
