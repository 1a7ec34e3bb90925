import { describe, expect, it } from '@jest/globals';
import { requireCsrfToken } from './session-verifier.js';

const session = { hash: '00', csrfToken: 'a'.repeat(43) };
const sent = (method: string, token?: string) => ({
  method,
  headers: token === undefined ? {} : { 'x-csrf-token': token },
});

describe('requireCsrfToken', () => {
  it.each(['GET', 'HEAD'])('requireCsrfToken admits %s without a token', (method) => {
    expect(() => requireCsrfToken(sent(method), session)).not.toThrow();
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'requireCsrfToken admits %s only with the session’s token',
    (method) => {
      expect(() => requireCsrfToken(sent(method, session.csrfToken), session)).not.toThrow();
      const wrong = [undefined, '', 'a', 'a'.repeat(42), 'a'.repeat(44), 'b'.repeat(43), 'ä'.repeat(43)];
      for (const token of [...wrong, `${session.csrfToken}, ${session.csrfToken}`])
        expect(() => requireCsrfToken(sent(method, token), session)).toThrow(
          expect.objectContaining({ code: 'CSRF_TOKEN_MISSING' }),
        );
    },
  );
});
