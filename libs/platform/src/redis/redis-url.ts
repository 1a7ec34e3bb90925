export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

interface RedisLogin {
  readonly username?: string;
  readonly password?: string;
}

/** The servers that REDIS_URL names. */
export type RedisServers =
  | { readonly kind: 'single'; readonly url: string }
  | {
      readonly kind: 'sentinel';
      readonly addresses: readonly RedisAddress[];
      /** The name under which the Sentinels know the master. */
      readonly master: string;
      readonly db: number;
      readonly login: RedisLogin;
      readonly sentinelLogin: RedisLogin;
      readonly isTls: boolean;
    }
  | {
      readonly kind: 'cluster';
      /** Some nodes. The client learns the others from them. */
      readonly addresses: readonly RedisAddress[];
      readonly login: RedisLogin;
      readonly isTls: boolean;
    };

/** The message says what is wrong with the URL and how it is corrected. It contains no part of the URL. */
export class RedisUrlInvalid extends Error {
  readonly code = 'REDIS_URL_INVALID';
  constructor(message: string) {
    super(message);
    this.name = 'RedisUrlInvalid';
  }
}

const SENTINEL_PORT = 26_379;
const REDIS_PORT = 6_379;
const SENTINEL_EXAMPLE = 'redis+sentinel://a:26379,b:26379/mymaster';
const CLUSTER_EXAMPLE = 'redis+cluster://a:7000,b:7001';
const ANY_URL = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?#]*)@)?([^/?#]+)([^?#]*)(?:\?(.*))?$/;

/** Parses `redis://`, `redis+sentinel://` and `redis+cluster://`, each also with `rediss` for TLS. The URL standard allows only one host. */
export function parseRedisUrl(text: string): RedisServers {
  const [, scheme, kind, userInfo = '', hosts = '', path = '', query = ''] = ANY_URL.exec(text) ?? [];
  if (!scheme || /\s/.test(text))
    throw new RedisUrlInvalid(
      'must be a URL starting with redis://, redis+sentinel:// or redis+cluster://, or with rediss for TLS',
    );
  if (!kind) return parseSingle(text, hosts, path);
  const isTls = scheme === 'rediss';
  const login = loginOf(userInfo);
  const parameters = new URLSearchParams(query);
  return kind === 'sentinel'
    ? {
        kind,
        addresses: addressesOf(hosts, SENTINEL_PORT),
        ...parseSentinelPath(path),
        login,
        isTls,
        sentinelLogin: sentinelLoginOf(parameters),
      }
    : parseCluster(hosts, path, parameters, login, isTls);
}

/** Host and port of each server, for messages. */
export function redisHosts(text: string): string {
  const servers = parseRedisUrl(text);
  if (servers.kind === 'single') return new URL(servers.url).host;
  return servers.addresses
    .map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
    .join(',');
}

function parseSingle(url: string, hosts: string, path: string): RedisServers {
  if (hosts.includes(','))
    throw new RedisUrlInvalid(`names several servers: write ${SENTINEL_EXAMPLE} or ${CLUSTER_EXAMPLE}`);
  if (!URL.canParse(url)) throw new RedisUrlInvalid('has a wrong host, port or login');
  databaseOf(path.slice(1));
  return { kind: 'single', url };
}

function parseSentinelPath(path: string): { readonly master: string; readonly db: number } {
  const [, master = '', db = '', ...more] = path.split('/');
  if (!master || more.length > 0)
    throw new RedisUrlInvalid(`must end with the name of the master: ${SENTINEL_EXAMPLE}`);
  return { master: decoded(master), db: databaseOf(db) };
}

function parseCluster(
  hosts: string,
  path: string,
  parameters: URLSearchParams,
  login: RedisLogin,
  isTls: boolean,
): RedisServers {
  if (!['', '/', '/0'].includes(path))
    throw new RedisUrlInvalid('must not name a database: a Cluster has only database 0');
  if (parameters.size > 0) throw new RedisUrlInvalid('must not have parameters after a question mark');
  return { kind: 'cluster', addresses: addressesOf(hosts, REDIS_PORT), login, isTls };
}

function addressesOf(hosts: string, usualPort: number): RedisAddress[] {
  return hosts.split(',').map((text) => {
    const isHost = text !== '' && URL.canParse(`redis://${text}`);
    const { hostname, port } = new URL(isHost ? `redis://${text}` : 'redis://');
    if (!hostname)
      throw new RedisUrlInvalid('has a wrong host or port: write host:port, separated by commas');
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || usualPort) };
  });
}

function loginOf(userInfo: string): RedisLogin {
  const [username = '', ...password] = userInfo.split(':');
  return login(decoded(username), decoded(password.join(':')));
}

function sentinelLoginOf(parameters: URLSearchParams): RedisLogin {
  const known = ['sentinel_username', 'sentinel_password'];
  if ([...parameters.keys()].some((name) => !known.includes(name)))
    throw new RedisUrlInvalid(`has an unknown parameter: ${known.join(' and ')} are known`);
  const [username, password] = known.map((name) => parameters.get(name) ?? '');
  return login(username, password);
}

const login = (username = '', password = ''): RedisLogin => ({
  ...(username && { username }),
  ...(password && { password }),
});

function databaseOf(text: string): number {
  if (!/^\d*$/.test(text)) throw new RedisUrlInvalid('has a database that is not a number');
  return Number(text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlInvalid('has a login or a name that is not percent-encoded');
  }
}
