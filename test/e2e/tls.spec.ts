import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { type Certificates, keyFor, makeCertificates } from '../harness/certificates.js';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { freePort } from '../harness/free-port.js';
import { NatsServer } from '../harness/nats-server.js';
import { PostgresServer, serverUser } from '../harness/postgres-server.js';
import { ProductProcess } from '../harness/process.js';
import { RedisServer } from '../harness/redis-server.js';

const MIGRATE = 'dist/libs/platform/src/database/migrate.main.js';

describe('servers that speak TLS under a CA of our own', () => {
  let certificates: Certificates;
  let postgres: PostgresServer;
  let redis: RedisServer;
  let clusterNode: RedisServer;
  let clusterUrl: string;
  let nats: NatsServer;
  let environment: TestEnvironment;
  let urls: { DATABASE_URL: string; REDIS_URL: string; NATS_URL: string };
  beforeAll(async () => {
    certificates = makeCertificates();
    const { ca, certificate, key } = certificates;
    const { uid, gid } = serverUser() ?? {};
    const [tlsPort, clusterPort] = [String(await freePort()), String(await freePort())];
    const underTls = (port: string) => [
      ...['--tls-port', port, '--tls-cert-file', certificate, '--tls-key-file', key],
      ...['--tls-ca-cert-file', ca, '--tls-auth-clients', 'no'],
    ];
    [postgres, redis, clusterNode, nats] = await Promise.all([
      PostgresServer.start(
        'ssl=on',
        `ssl_cert_file=${certificate}`,
        `ssl_key_file=${keyFor(certificates, uid, gid)}`,
      ),
      RedisServer.start(...underTls(tlsPort)),
      RedisServer.startClusterNode(
        ...underTls(clusterPort),
        ...['--tls-cluster', 'yes', '--cluster-announce-ip', '127.0.0.1'],
      ),
      NatsServer.start(
        `tls { cert_file: "${certificate}", key_file: "${key}" }\nauthorization { user: app, password: secret-pw }`,
      ),
    ]);
    urls = {
      DATABASE_URL: `${postgres.url}?sslmode=verify-full`,
      REDIS_URL: `rediss://127.0.0.1:${tlsPort}`,
      NATS_URL: nats.url.replace('nats://', 'tls://app:secret-pw@'),
    };
    await clusterNode.command('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
    clusterUrl = `rediss+cluster://127.0.0.1:${clusterPort}`;
    environment = await testEnvironment(urls, { url: urls.DATABASE_URL, drop: () => Promise.resolve() });
  });
  afterAll(async () => {
    await Promise.all([postgres.stop(), redis.kill(), clusterNode.kill(), nats.stop()]);
    await environment?.release();
    rmSync(certificates.folder, { recursive: true });
  });

  it('rediss://, rediss+cluster://, tls:// and sslmode=verify-full work with NODE_EXTRA_CA_CERTS, by address and by name', async () => {
    for (const [host, REDIS_URL] of [
      ['127.0.0.1', urls.REDIS_URL],
      ['localhost', clusterUrl],
    ] as const) {
      const named = Object.entries({ ...urls, REDIS_URL }).map(([name, url]) => [
        name,
        url.replace('127.0.0.1', host),
      ]);
      const api = await ProductProcess.start('api', {
        ...environment.env,
        ...Object.fromEntries(named),
        NODE_EXTRA_CA_CERTS: certificates.ca,
      });
      await request(api.url).get('/health/ready').expect(200);
      expect(await api.stop()).toBe(0);
    }
  });

  it('the migrator accepts a Postgres certificate of the CA that sslrootcert names, also at one of several hosts', async () => {
    const { PATH } = process.env;
    const one = `${urls.DATABASE_URL}&sslrootcert=${certificates.ca}`;
    const several = `${one.replace('127.0.0.1', '127.0.0.1:9,localhost')}&target_session_attrs=read-write`;
    for (const DATABASE_URL of [one, several]) {
      const { stdout } = await promisify(execFile)(process.execPath, [MIGRATE, 'up'], {
        env: { PATH, DATABASE_URL },
      });
      expect(stdout).toContain('nothing to apply');
    }
  });

  it('a process refuses certificates of an unknown CA at once and prints a sentence for each server, without a stack', async () => {
    const api = ProductProcess.spawn('api', { ...environment.env, START_WAIT_SECONDS: '3600' });
    expect(await api.exited()).toBe(1);
    for (const server of ['Postgres', 'Redis', 'NATS'])
      expect(api.stderr).toMatch(
        new RegExp(`${server} at 127\\.0\\.0\\.1:\\d+ cannot be reached: .*certificate`),
      );
    expect(api.stderr).not.toMatch(/\n\s+at |secret-pw/);
  });
});
