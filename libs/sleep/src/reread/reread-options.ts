import { parseArgs } from 'node:util';
import { z } from 'zod';

const USAGE =
  'usage: reread --from 2026-11-19T08:00:00Z   (DATABASE_URL and NATS_URL name the servers, DLQ_RETENTION_DAYS as the workers have it)';

const TIME = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

/**
 * The time in the arguments of `npm run reread`. Throws the usage if the arguments are anything else than one time. A time without a zone
 * would differ between machines, and `new Date` accepts almost any text.
 */
export function startOf(args: string[]): Date {
  const time = TIME.safeParse(optionsOf(args).from);
  if (!time.success) throw new Error(USAGE);
  const from = new Date(time.data);
  if (from.getTime() > Date.now()) throw new Error(`${from.toISOString()} is in the future`);
  return from;
}

function optionsOf(args: string[]): { readonly from?: string } {
  try {
    return parseArgs({ args, options: { from: { type: 'string' } } }).values;
  } catch (cause) {
    throw new Error(USAGE, { cause });
  }
}
