import { isIP } from 'node:net';
import { z } from 'zod';

// The schemas of variables: each parses a text and says in plain words what is wrong with it.

export const url = (...protocols: string[]) =>
  z.string().refine((text) => isUrlOf(text, protocols), {
    message: `must be a URL starting with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  });
export const http = url('http:', 'https:').transform((text) => text.replace(/\/+$/, ''));
// An origin as browsers write it: scheme, host and port, no path. `*` is refused: the operator must name each origin.
export const origin = z
  .string()
  .transform((text) => text.replace(/\/$/, ''))
  .refine((text) => isUrlOf(text, ['http:', 'https:']) && new URL(text).origin === text.toLowerCase(), {
    message: 'must be origins such as https://app.example, without a path',
  })
  .transform((text) => text.toLowerCase());
export const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number')
  .transform(Number)
  .refine((number) => number <= 65_535, 'must be a port number');
export const wholeNumber = (min: number) =>
  z.coerce
    .number({ message: 'must be a whole number' })
    .int('must be a whole number')
    .min(min, `must be at least ${min}`);
export const onOrOff = z
  .enum(['on', 'off'], { message: 'must be on or off' })
  .transform((text) => text === 'on');
export const oneOrZero = z.enum(['1', '0'], { message: 'must be 1 or 0' }).transform((text) => text === '1');
// `on` is the spelling of 0.1. It is accepted until 0.3.
export const allowUnsafe = z
  .enum(['1', '0', 'on', 'off'], { message: 'must be 1 or 0' })
  .transform((text) => text === '1' || text === 'on');
export const daysFrom = (min: number) =>
  wholeNumber(min).refine((number) => number <= 3_650, 'must be at most 3650');
export const days = daysFrom(1);
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean),
);
export const addresses = z
  .string()
  .refine(isAddressOrRange, 'must be IP addresses or ranges such as 10.0.0.0/8');
export const secret = (minLength: number) =>
  z.string().min(minLength, `must have at least ${minLength} characters`);
export const text = z.string().min(1);

/** For the variables of vendors. */
export const schemas = { days, http, onOrOff, secret, text };

function isUrlOf(text: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(text) || /\s/.test(text)) return false;
  const { protocol, host } = new URL(text);
  return protocols.includes(protocol) && host !== '';
}

function isAddressOrRange(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return (
    longest > 0 &&
    more.length === 0 &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest))
  );
}
