import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { required } from '../../../../test/harness/servers.js';
import { createLogger } from '../logging/logger.js';
import { createRedis } from './redis.js';
import { LuaScript, type ScriptAnswer } from './lua-script.js';

const folder = mkdtempSync(join(tmpdir(), 'lua-'));
const module = pathToFileURL(join(folder, 'module.js')).toString();

function script<Answer extends ScriptAnswer>(name: string, text: string): LuaScript<Answer> {
  writeFileSync(join(folder, `${name}.lua`), text);
  return new LuaScript<Answer>(module, `./${name}.lua`);
}

const COUNT = `-- Counts.
-- KEYS[1] the counter
-- ARGV[1] the step
-- returns the new count
return redis.call('INCRBY', KEYS[1], ARGV[1])`;

describe('a Lua script', () => {
  const prefix = `test:${randomUUID()}:`;
  const logger = createLogger({ level: 'silent', process: 'test' });
  const redis = createRedis({ url: required('REDIS_URL'), keyPrefix: prefix }, logger);
  const bare = new Redis(required('REDIS_URL'));
  afterAll(async () => {
    await Promise.all([redis.quit(), bare.quit()]);
    rmSync(folder, { recursive: true });
  });

  it('LuaScript adds the key prefix', async () => {
    const count = script<number>('count', COUNT);
    expect(await count.run(redis, ['visits'], [2])).toBe(2);
    expect(await count.run(redis, ['visits'], [3])).toBe(5);
    expect(await bare.get(`${prefix}visits`)).toBe('5');
  });

  it('LuaScript sends the script again to a server that has lost it', async () => {
    const count = script<number>('count_again', COUNT);
    await count.run(redis, ['again'], [1]);
    await bare.script('FLUSH');
    expect(await count.run(redis, ['again'], [1])).toBe(2);
  });

  it('LuaScript throws for a call with another number of keys or arguments than the header declares', () => {
    const count = script<number>('count_wrong', COUNT);
    expect(() => count.run(redis, ['a', 'b'], [1])).toThrow('takes 1 keys and 1 arguments, not 2 and 1');
    expect(() => count.run(redis, ['a'], [])).toThrow('not 1 and 0');
  });

  it('LuaScript keeps scripts of the same name apart, also from Redis commands', async () => {
    const other = mkdtempSync(join(folder, 'other-'));
    const header = '-- KEYS[1] a key\n-- returns a number\n';
    writeFileSync(join(other, 'get.lua'), `${header}return 2`);
    const first = script<number>('get', `${header}return 1`);
    const second = new LuaScript<number>(pathToFileURL(join(other, 'module.js')).toString(), './get.lua');
    expect([await first.run(redis, ['k'], []), await second.run(redis, ['k'], [])]).toEqual([1, 2]);
  });

  it('LuaScript accepts any number of keys and arguments if the last line of each has an ellipsis', async () => {
    const text = `-- KEYS[1…] counters
-- ARGV[1] a word
-- ARGV[2…] more words
-- returns how many it got
return { #KEYS, #ARGV }`;
    const several = script<[number, number]>('several', text);
    expect(await several.run(redis, ['a', 'b', 'c'], ['x', 'y'])).toEqual([3, 2]);
    expect(() => several.run(redis, ['a'], [])).toThrow(
      'takes at least 0 keys and at least 1 arguments, not 1 and 0',
    );
  });

  it.each([
    ['is missing', 'return 1', 'does not say what it returns'],
    ['declares no keys', '-- returns one\nreturn 1', 'documents no KEYS'],
    ['leaves out a key', '-- KEYS[2] a key\n-- returns one\nreturn 1', 'KEYS are not numbered'],
    [
      'has an ellipsis before the last key',
      '-- KEYS[1…] keys\n-- KEYS[2] a key\n-- returns one\nreturn 1',
      'KEYS are not numbered',
    ],
  ])('LuaScript throws when it is made from a script whose header %s', (name, text, problem) => {
    expect(() => script(name.replaceAll(' ', '_'), text)).toThrow(problem);
  });
});
