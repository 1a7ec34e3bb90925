import { expect } from '@jest/globals';
import { documentedCodes } from './error-codes.js';

/** The shape of every error answer, for `toEqual`. */
export function errorBody(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    error: expect.any(String),
    code: expect.stringMatching(new RegExp(`^(${documentedCodes().answered.join('|')})$`)),
    details: expect.any(Array),
    request_id: expect.any(String),
    ...more,
  };
}
