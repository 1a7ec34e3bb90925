import { badRequest } from '../strava-fault.js';

/** A whole number from the query, or undefined when absent. */
export function wholeNumber(query: unknown, field: string): number | undefined {
  const text = (query as Record<string, unknown>)[field];
  if (text === undefined || text === '') return undefined;
  if (typeof text !== 'string' || !/^-?\d{1,15}$/.test(text)) throw badRequest('Application', field);
  return Number(text);
}
