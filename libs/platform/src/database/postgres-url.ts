import { z } from 'zod';

// Prefix with the login, hosts, and the rest from the path on. `new URL` refuses several hosts with ports.
const SHAPE = /^(postgres(?:ql)?:\/\/(?:[^@/?#\s]*@)?)([^@/?#\s]+)([/?#]\S*)?$/;
const WANTED = 'target_session_attrs';
// Names of libpq for the server that takes writes.
const WRITABLE = ['read-write', 'primary'];

/**
 * The URLs of the servers that `postgres://user:password@a:5432,b:5432/db?target_session_attrs=read-write` names, as libpq reads it. Each of
 * them has one host. The list is empty if the text is no such URL.
 */
export function serversOf(text: string): readonly string[] {
  const [, prefix, hosts, rest = ''] = SHAPE.exec(text) ?? [];
  if (!prefix || !hosts) return [];
  const urls = hosts.split(',').map((host) => `${prefix}${host}${rest}`);
  const isReadable = urls.every((url) => URL.canParse(url) && new URL(url).host !== '');
  return isReadable ? urls.map(withoutWanted) : [];
}

/** Host and port of each server, for operators. */
export function hostsOf(text: string): string {
  return serversOf(text)
    .map((url) => new URL(url).host)
    .join(',');
}

function withoutWanted(text: string): string {
  const url = new URL(text);
  if (!url.searchParams.has(WANTED)) return text;
  url.searchParams.delete(WANTED);
  return url.toString();
}

/** The schema of DATABASE_URL and its like. */
export const postgresUrl = z.string().superRefine((text, context) => {
  const fail = (message: string) => context.addIssue({ code: 'custom', message });
  if (serversOf(text).length === 0) return fail('must be a URL starting with postgres:// or postgresql://');
  const wanted = new URLSearchParams(/\?([^#]*)/.exec(text)?.[1]).get(WANTED);
  if (wanted !== null && !WRITABLE.includes(wanted)) fail(`${WANTED} must be read-write or left out`);
});
