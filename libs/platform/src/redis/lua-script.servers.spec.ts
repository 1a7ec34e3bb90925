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

  it('runs under the key prefix', async () => {
    const count = script<number>('count', COUNT);
    expect(await count.run(redis, ['visits'], [2])).toBe(2);
    expect(await count.run(redis, ['visits'], [3])).toBe(5);
    expect(await bare.get(`${prefix}visits`)).toBe('5');
  });

  it('is sent again to a server that forgot it', async () => {
    const count = script<number>('count_again', COUNT);
    await count.run(redis, ['again'], [1]);
    await bare.script('FLUSH');
    expect(await count.run(redis, ['again'], [1])).toBe(2);
  });

  it('refuses a call that its header does not describe', () => {
    const count = script<number>('count_wrong', COUNT);
    expect(() => count.run(redis, ['a', 'b'], [1])).toThrow('takes 1 keys and 1 arguments, not 2 and 1');
    expect(() => count.run(redis, ['a'], [])).toThrow('not 1 and 0');
  });

  it('is not taken for another of its name, nor for a command of Redis', async () => {
    const other = mkdtempSync(join(folder, 'other-'));
    const header = '-- KEYS[1] a key\n-- returns a number\n';
    writeFileSync(join(other, 'get.lua'), `${header}return 2`);
    const first = script<number>('get', `${header}return 1`);
    const second = new LuaScript<number>(pathToFileURL(join(other, 'module.js')).toString(), './get.lua');
    expect([await first.run(redis, ['k'], []), await second.run(redis, ['k'], [])]).toEqual([1, 2]);
  });

  it('may take any number of keys and arguments from the last documented on', async () => {
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
    ['says nothing', 'return 1', 'does not say what it returns'],
    ['says only what it returns', '-- returns one\nreturn 1', 'documents no KEYS'],
    ['leaves a key out', '-- KEYS[2] a key\n-- returns one\nreturn 1', 'KEYS are not numbered'],
    [
      'goes on too early',
      '-- KEYS[1…] keys\n-- KEYS[2] a key\n-- returns one\nreturn 1',
      'KEYS are not numbered',
    ],
  ])('is refused at start when its header %s', (name, text, problem) => {
    expect(() => script(name.replaceAll(' ', '_'), text)).toThrow(problem);
  });
});
