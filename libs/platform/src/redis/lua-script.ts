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
 * The header is the interface: a call with another number of keys or arguments is refused before it is sent.
 */
export class LuaScript<Answer extends ScriptAnswer> {
  private readonly name: string;
  private readonly text: string;
  private readonly keyCount: number;
  private readonly argCount: number;

  constructor(besideModule: string, file: string) {
    this.text = readFileSync(new URL(file, besideModule), 'utf8');
    this.name = file.replace(/^.*\//, '').replace(/\.lua$/, '');
    this.keyCount = documented(this.text, 'KEYS');
    this.argCount = documented(this.text, 'ARGV');
    if (!/^-- returns /m.test(this.text)) throw new Error(`${file} does not say what it returns`);
    if (this.keyCount === 0) throw new Error(`${file} documents no KEYS`);
  }

  run(redis: Redis, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<Answer> {
    if (keys.length !== this.keyCount || args.length !== this.argCount)
      throw new Error(
        `${this.name}.lua takes ${this.keyCount} keys and ${this.argCount} arguments, not ${keys.length} and ${args.length}`,
      );
    return this.commandOn(redis)(...keys, ...args);
  }

  /** ioredis sends EVALSHA, and the text only to a server that has not seen it. */
  private commandOn(redis: Redis): (...parameters: ReadonlyArray<string | number>) => Promise<Answer> {
    const commands = redis as unknown as Record<
      string,
      (...parameters: ReadonlyArray<string | number>) => Promise<Answer>
    >;
    if (!commands[this.name]) redis.defineCommand(this.name, { numberOfKeys: this.keyCount, lua: this.text });
    const command = commands[this.name];
    if (!command) throw new Error(`${this.name} could not be defined`);
    return command.bind(redis);
  }
}

/** How many KEYS[n] or ARGV[n] the header lists; they must be numbered without a gap. */
function documented(text: string, array: 'KEYS' | 'ARGV'): number {
  const header = text.split('\n').filter((line) => line.startsWith('--'));
  const numbers = header.flatMap((line) => {
    const [, number] = new RegExp(`^-- ${array}\\[(\\d+)\\] \\S`).exec(line) ?? [];
    return number ? [Number(number)] : [];
  });
  if (numbers.some((number, index) => number !== index + 1))
    throw new Error(`${array} are not numbered 1, 2, 3 …`);
  return numbers.length;
}
