import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type RedisClient } from './redis.js';

export type ScriptAnswer = number | string | null | ScriptAnswer[];

/**
 * A Lua script in a `.lua` file beside its module. The header declares keys, arguments and result:
 *
 *     -- KEYS[1] the caller's minute
 *     -- ARGV[1] requests at most
 *     -- returns {granted, ms left}
 *
 * `run` throws if the number of keys or arguments differs from the header; it then sends nothing. If the last line is `KEYS[2…]` or
 * `ARGV[2…]`, one or more are allowed. Keys get the prefix of the client. In a Cluster the keys of one call must share a hash tag; the server
 * refuses a call whose keys do not.
 */
export class LuaScript<Answer extends ScriptAnswer> {
  private readonly name: string;
  /** Name of the command on the client. Its hash avoids the names of Redis commands and of other scripts with the same file name. */
  private readonly command: string;
  private readonly text: string;
  private readonly keys: Count;
  private readonly args: Count;

  constructor(besideModule: string, file: string) {
    this.text = readFileSync(new URL(file, besideModule), 'utf8');
    this.name = file.replace(/^.*\//, '').replace(/\.lua$/, '');
    this.command = `lua:${this.name}:${createHash('sha1').update(this.text).digest('hex')}`;
    this.keys = documented(this.text, 'KEYS');
    this.args = documented(this.text, 'ARGV');
    if (!/^-- returns /m.test(this.text)) throw new Error(`${file} does not say what it returns`);
    if (this.keys.atLeast === 0 && !this.keys.more) throw new Error(`${file} documents no KEYS`);
  }

  run(redis: RedisClient, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<Answer> {
    if (!fits(keys.length, this.keys) || !fits(args.length, this.args))
      throw new Error(
        `${this.name}.lua takes ${countText(this.keys)} keys and ${countText(this.args)} arguments, not ${keys.length} and ${args.length}`,
      );
    return this.commandOn(redis)(keys.length, ...keys, ...args);
  }

  /** ioredis sends EVALSHA. It sends the text only if the server does not know the script. */
  private commandOn(redis: RedisClient): (...parameters: ReadonlyArray<string | number>) => Promise<Answer> {
    const commands = redis as unknown as Record<
      string,
      (...parameters: ReadonlyArray<string | number>) => Promise<Answer>
    >;
    if (!commands[this.command]) redis.defineCommand(this.command, { lua: this.text });
    const command = commands[this.command];
    if (!command) throw new Error(`${this.name} could not be defined`);
    return command.bind(redis);
  }
}

interface Count {
  readonly atLeast: number;
  readonly more: boolean;
}

const fits = (length: number, { atLeast, more }: Count) => length === atLeast || (more && length > atLeast);
const countText = ({ atLeast, more }: Count) => (more ? `at least ${atLeast}` : `${atLeast}`);

/** Counts the KEYS[n] or ARGV[n] of the header; they must be numbered without a gap. */
function documented(text: string, array: 'KEYS' | 'ARGV'): Count {
  const header = text.split('\n').filter((line) => line.startsWith('--'));
  const listed = header.flatMap((line) => {
    const [, number, more] = new RegExp(`^-- ${array}\\[(\\d+)(…?)\\] \\S`).exec(line) ?? [];
    return number ? [{ number: Number(number), more: more === '…' }] : [];
  });
  const inOrder = listed.every(({ number }, index) => number === index + 1);
  const onlyLastGoesOn = listed.slice(0, -1).every(({ more }) => !more);
  if (!inOrder || !onlyLastGoesOn) throw new Error(`${array} are not numbered 1, 2, 3 …`);
  const more = listed.at(-1)?.more ?? false;
  return { atLeast: more ? listed.length - 1 : listed.length, more };
}
