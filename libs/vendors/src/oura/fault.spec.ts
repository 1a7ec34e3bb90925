import { describe, expect, it } from '@jest/globals';
import { VendorAnswers } from '../call/vendor-answer.js';
import { oura } from './vendor.js';

const answer = (status: number, body: unknown) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
const answers = new VendorAnswers(oura.title, oura.readFault);
const SCOPE = { detail: 'Token is not authorized access daily scope.' };
const EXPIRED = { status: 401, title: 'Unauthorized', detail: 'Token has expired.' };

describe('a refusal by Oura', () => {
  it.each([
    ['a 401 that names a missing scope', 401, SCOPE, 'a refusal of the request'],
    ['a 401 in plain text that names one', 401, SCOPE.detail.toLowerCase(), 'a refusal of the request'],
    ['a 401 for an expired token', 401, EXPIRED, 'the end of the token'],
    ['a 401 that says "scope" about something else', 401, { detail: 'scope' }, 'the end of the token'],
    ['a 401 without a body', 401, '', 'the end of the token'],
    ['a 403 that names a missing scope', 403, SCOPE, 'a refusal of the request'],
  ])('reads %s of Oura (%i %j) as %s', (_, status, body, meaning) => {
    expect(answers.refusesToken(answer(status, body))).toBe(meaning !== 'a refusal of the request');
  });

  it('reads a 401 of Oura for a missing scope as a refusal of this request, and says why without Oura’s text', () => {
    expect(answers.read(answer(401, SCOPE), () => 0)).toEqual({
      kind: 'refused',
      status: 401,
      reason: 'Oura refused the request (401): a scope is missing',
    });
  });
});
