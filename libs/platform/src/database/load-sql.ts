import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Statement } from './database.js';

/** `loadSql(import.meta.url, './claim.sql')`: a statement kept in a file of its own, prepared once per connection. */
export function loadSql(besideModule: string, file: string): Statement {
  const text = readFileSync(new URL(file, besideModule), 'utf8');
  const stem = file.replace(/^.*\//, '').replace(/\.sql$/, '');
  // Two folders may each have a claim.sql.
  return { text, name: `${stem}:${createHash('sha1').update(text).digest('hex').slice(0, 12)}` };
}
