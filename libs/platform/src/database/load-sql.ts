import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { type Statement } from './database.js';

/**
 * A statement that is prepared once per connection. Its name contains a hash of the text. Without the hash, two versions of a process
 * behind a pooler would execute each other's statement.
 */
export function prepared(name: string, text: string): Statement {
  return { text, name: `${name}:${createHash('sha1').update(text).digest('hex').slice(0, 12)}` };
}

/** Loads a prepared statement from a file beside the module: `loadSql(import.meta.url, './claim.sql')`. */
export function loadSql(besideModule: string, file: string): Statement {
  const stem = file.replace(/^.*\//, '').replace(/\.sql$/, '');
  return prepared(stem, readFileSync(new URL(file, besideModule), 'utf8'));
}

/**
 * The statement's columns of type text hold base64 and are read as bytes, while the driver parses the row. A text that lives until the
 * query's promise is resolved often outlives a garbage collection: V8 then copies it, and frees it only with the whole heap.
 */
export function withBytes(statement: Statement): Statement {
  const { TEXT } = pg.types.builtins;
  const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (type, format) =>
    type === TEXT ? decode : (pg.types.getTypeParser(type, format) as typeof decode);
  return { ...statement, types: { getTypeParser } };
}

const decode = (text: string) => Buffer.from(text, 'base64');
