import { readFileSync } from 'node:fs';
import { type Statement } from './database.js';

/** `loadSql(import.meta.url, './claim.sql')`: a statement kept in a file of its own, prepared under the file's name. */
export function loadSql(besideModule: string, file: string): Statement {
  const text = readFileSync(new URL(file, besideModule), 'utf8');
  return { text, name: file.replace(/^.*\//, '').replace(/\.sql$/, '') };
}
