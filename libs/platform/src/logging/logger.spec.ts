import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLogger } from './logger.js';

function capture() {
  let text = '';
  const destination = new Writable({
    write(chunk: Buffer, _, done) {
      text += chunk.toString();
      done();
    },
  });
  return { logger: createLogger({ level: 'info', process: 'test', destination }), text: () => text };
}

const NAMES = [
  'authorization',
  'password',
  'access_token',
  'refreshToken',
  'client_secret',
  'x-api-key',
  'cookie',
  'token',
];

describe('the log', () => {
  it('hides secrets wherever they are in what is logged', () => {
    const planted = fc.string({ minLength: 12, unit: fc.constantFrom(...'ABCDEFGHJKLMNP23456789') });
    const depth = fc.constantFrom(
      (name: string, secret: string) => ({ [name]: secret }),
      (name: string, secret: string) => ({ headers: { [name]: secret } }),
      (name: string, secret: string) => ({ request: { headers: { [name]: secret } } }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), planted, depth, (name, secret, wrap) => {
        const { logger, text } = capture();
        logger.info(wrap(name, secret), 'event');
        expect(text()).not.toContain(secret);
        expect(text()).toContain('[redacted]');
      }),
    );
  });
});
