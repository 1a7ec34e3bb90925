import { describe, expect, it } from '@jest/globals';
import { VendorAnswers } from '../call/vendor-answer.js';
import { polar } from './vendor.js';

const answer = (status: number, body: unknown) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
const answers = new VendorAnswers(polar.title, polar.readFault);
const CONSENTS = { status: 403, message: 'User has not accepted all mandatory consents.' };

describe('a refusal by Polar', () => {
  it.each([
    ['a 401', 401, {}, 'the end of the token'],
    ['a 403 that names the mandatory consents', 403, CONSENTS, 'the end of the grant'],
    ['a 403 in plain text that names them', 403, 'Mandatory Consents missing', 'the end of the grant'],
    ['a 403 for one resource', 403, { status: 403, message: 'Forbidden' }, 'a refusal of the request'],
    ['a 403 without a body', 403, '', 'a refusal of the request'],
    ['a 400 that names consents', 400, CONSENTS, 'a refusal of the request'],
    ['a 404 that names consents', 404, CONSENTS, 'a refusal of the request'],
  ])('reads %s of Polar (%i %j) as %s', (_, status, body, meaning) => {
    expect(answers.refusesToken(answer(status, body))).toBe(meaning !== 'a refusal of the request');
  });

  it('reads a 403 of Polar that does not name the consents as a refusal of this request', () => {
    expect(answers.read(answer(403, ''), () => 0)).toMatchObject({ kind: 'refused', status: 403 });
  });
});
