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
  ...['authorization', 'cookie', 'set-cookie', 'password', 'secret', 'client_secret', 'clientSecret'],
  ...['token', 'access_token', 'refreshToken', 'x-api-key', 'apiKey', 'api_key', 'STRAVA_CLIENT_SECRET'],
];
const name = fc
  .constantFrom(...NAMES)
  .chain((known) => fc.constantFrom(known, known.toUpperCase(), known.toLowerCase()));
const planted = fc.string({ minLength: 12, unit: fc.constantFrom(...'ABCDEFGHJKLMNP23456789') });
/** Ways in which a secret is nested: by name, in a list, on an error, in an error's cause. */
const wrapping = fc.constantFrom(
  (inner: unknown) => ({ request: inner }),
  (inner: unknown) => ({ list: [inner] }),
  (inner: unknown) => ({
    err: Object.assign(new Error('failed'), { config: inner, command: { args: [inner] } }),
  }),
  (inner: unknown) => ({ err: new Error('failed', { cause: inner }) }),
);

describe('the log', () => {
  it('the log hides secrets at any depth of a logged object', () => {
    fc.assert(
      fc.property(name, planted, fc.array(wrapping, { maxLength: 5 }), (key, secret, wrappings) => {
        const { logger, text } = capture();
        logger.info(
          wrappings.reduce<object>((inner, wrap) => wrap(inner), { [key]: secret }),
          'event',
        );
        expect(text()).not.toContain(secret);
      }),
    );
  });

  it('the log has type, message, code and stack of an error, but not the arguments of a failed command', () => {
    const { logger, text } = capture();
    const err = Object.assign(new Error('WRONGPASS'), {
      code: 'E1',
      command: { name: 'auth', args: ['hunter2'] },
    });
    logger.warn({ err, url: 'redis://user:hunter2@cache:6379/0' }, 'redis connection failed');
    expect(JSON.parse(text())).toMatchObject({
      level: 'warn',
      err: { type: 'Error', message: 'WRONGPASS', code: 'E1', stack: expect.stringContaining('logger.spec') },
      url: 'redis://[redacted]@cache:6379/0',
    });
    expect(text()).not.toContain('hunter2');
  });

  it('the log hides a service key in any text, also in the message and stack of an error', () => {
    const { logger, text } = capture();
    const key = `pk_${'x-_7'.repeat(11)}`;
    logger.warn(
      { err: new Error(`refused ${key}.`), note: [`Bearer ${key}`], header: { one: key } },
      'event',
    );
    expect(text()).not.toContain('pk_');
    expect(JSON.parse(text())).toMatchObject({
      err: { message: 'refused [redacted].' },
      note: ['Bearer [redacted]'],
    });
  });

  it('the log cuts off an object that contains itself', () => {
    const { logger, text } = capture();
    const circle: Record<string, unknown> = {};
    circle.again = circle;
    logger.info({ circle }, 'event');
    expect(text()).toContain('[too deep]');
  });
});
