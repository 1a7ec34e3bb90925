import { gunzipSync } from 'node:zlib';
import { jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { type Redis } from 'ioredis';
import { type World } from './world.js';

const STREAMS = ['AA_CORE_HOT', 'AA_DLQ', 'AA_ADVISORY'];

// One script, because a worker may delete the key or create it with another type between two commands.
const VALUE_OF_KEY = `
  local kind = redis.call('TYPE', KEYS[1]).ok
  if kind == 'string' then return redis.call('GET', KEYS[1]) end
  if kind == 'hash' then return redis.call('HGETALL', KEYS[1]) end
  if kind == 'zset' then return redis.call('ZRANGE', KEYS[1], 0, -1) end
  if kind == 'set' then return redis.call('SMEMBERS', KEYS[1]) end
  if kind == 'list' then return redis.call('LRANGE', KEYS[1], 0, -1) end
  if kind == 'stream' then return redis.call('XRANGE', KEYS[1], '-', '+') end
  return false`;

/** A stored text, and the place that has it: a table, a Redis key or a NATS subject. */
interface Found {
  readonly where: string;
  readonly content: string;
}

/** Reads all that a world has stored: every table, every Redis key and every message of the NATS streams. */
export class Remains {
  constructor(
    private readonly world: World,
    private readonly redis: Redis,
    private readonly connection: NatsConnection,
  ) {}

  /** The texts that contain one of these names. A number counts only as a whole one. */
  async mentioning(names: readonly string[]): Promise<Found[]> {
    const any = new RegExp(names.map(patternOf).join('|'));
    const all = await Promise.all([this.inTables(), this.inRedis(), this.inStreams()]);
    return all.flat().filter(({ content }) => any.test(content));
  }

  private async inTables(): Promise<Found[]> {
    const tables = await this.world.rows<{ name: string }>(
      "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    const found = tables.map(async ({ name }) => {
      const rows = await this.world.rows<{ row: string }>(
        `select to_jsonb(t)::text as row from "${name}" as t`,
      );
      return rows.map(({ row }) => ({ where: name, content: row.replace(BYTES, readBytes) }));
    });
    return (await Promise.all(found)).flat();
  }

  private async inRedis(): Promise<Found[]> {
    const prefix = this.world.env.REDIS_KEY_PREFIX ?? '';
    const keys = await this.redis.keys(`${prefix}*`);
    const found = keys.map(async (key) => {
      const value = await this.redis.eval(VALUE_OF_KEY, 1, key);
      const name = key.slice(prefix.length);
      return { where: `redis ${name.split(':')[0]}`, content: `${name} ${JSON.stringify(value)}` };
    });
    return Promise.all(found);
  }

  private async inStreams(): Promise<Found[]> {
    const manager = await jetstreamManager(this.connection);
    const found: Found[] = [];
    for (const stream of STREAMS) {
      const { first_seq, last_seq } = (await manager.streams.info(stream)).state;
      for (let seq = Math.max(1, first_seq); seq <= last_seq; seq += 1) {
        const message = await manager.streams.getMessage(stream, { seq });
        if (!message) continue;
        const content = `${message.subject} ${JSON.stringify([...message.header])} ${message.string()}`;
        found.push({ where: message.subject, content });
      }
    }
    return found;
  }
}

// As Postgres writes bytes in JSON.
const BYTES = /(?<="\\\\x)[0-9a-f]*(?=")/g;
const GZIP = '1f8b';

/** The text of bytes. In their hexadecimal digits an id may stand by chance. */
function readBytes(digits: string): string {
  const bytes = Buffer.from(digits, 'hex');
  return (digits.startsWith(GZIP) ? gunzipSync(bytes) : bytes).toString('latin1');
}

function patternOf(name: string): string {
  if (/^\d+$/.test(name)) return `(?<!\\d)${name}(?!\\d)`;
  return name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
