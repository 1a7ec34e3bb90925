import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Redis } from 'ioredis';

export type ScriptAnswer = number | string | null | ScriptAnswer[];

/**
 * A script kept in a `.lua` file of its own, whose header says what it takes and gives:
 *
 *     -- KEYS[1] the caller's minute
 *     -- ARGV[1] how many at most
 *     -- returns {granted, ms left}
 *
 * The header is the interface: a call with another number of keys or arguments is refused before it is sent. A last line
 * `KEYS[2…]` or `ARGV[2…]` says that any number may follow from there.
 */
export class LuaScript<Answer extends ScriptAnswer> {
  private readonly name: string;
  /** On the client, whose own commands and other folders' scripts may have the same name. */
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

  run(redis: Redis, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<Answer> {
    if (!fits(keys.length, this.keys) || !fits(args.length, this.args))
      throw new Error(
        `${this.name}.lua takes ${words(this.keys)} keys and ${words(this.args)} arguments, not ${keys.length} and ${args.length}`,
      );
    return this.commandOn(redis)(keys.length, ...keys, ...args);
  }

  /** ioredis sends EVALSHA, and the text only to a server that has not seen it. */
  private commandOn(redis: Redis): (...parameters: ReadonlyArray<string | number>) => Promise<Answer> {
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
const words = ({ atLeast, more }: Count) => (more ? `at least ${atLeast}` : `${atLeast}`);

/** How many KEYS[n] or ARGV[n] the header lists; they must be numbered without a gap. */
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
