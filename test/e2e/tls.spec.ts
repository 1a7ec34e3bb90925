import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
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
  let sentinel: RedisServer;
  let sentinelUrl: string;
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
    const sentinelPort = String(await freePort());
    const file = path.join(certificates.folder, 'sentinel.conf');
    writeFileSync(file, `sentinel monitor mymaster 127.0.0.1 ${tlsPort} 1\n`);
    // The Sentinel connects to the master by TLS as well.
    sentinel = await RedisServer.start(
      file,
      '--sentinel',
      ...underTls(sentinelPort),
      '--tls-replication',
      'yes',
    );
    sentinelUrl = `rediss+sentinel://127.0.0.1:${sentinelPort}/mymaster`;
    environment = await testEnvironment(urls, { url: urls.DATABASE_URL, drop: () => Promise.resolve() });
  });
  const withMode = (mode: string) => urls.DATABASE_URL.replace('verify-full', mode);
  afterAll(async () => {
    await Promise.all([postgres.stop(), redis.kill(), clusterNode.kill(), sentinel.kill(), nats.stop()]);
    await environment?.release();
    rmSync(certificates.folder, { recursive: true });
  });

  it.each([
    ['sslmode=verify-full, rediss:// and tls://', '127.0.0.1', () => urls],
    [
      'sslmode=require, rediss+cluster:// and tls://',
      'localhost',
      () => ({ ...urls, DATABASE_URL: withMode('require'), REDIS_URL: clusterUrl }),
    ],
    [
      'sslmode=no-verify, rediss+sentinel:// and a nats:// whose server requires TLS',
      '127.0.0.1',
      () => ({
        DATABASE_URL: withMode('no-verify'),
        REDIS_URL: sentinelUrl,
        NATS_URL: urls.NATS_URL.replace('tls://', 'nats://'),
      }),
    ],
  ] as const)(
    '%s work with NODE_EXTRA_CA_CERTS at %s, and no session of Postgres is in clear text',
    async (_, host, of) => {
      const named = Object.entries(of()).map(([name, url]) => [name, url.replace('127.0.0.1', host)]);
      const api = await ProductProcess.start('api', {
        ...environment.env,
        ...Object.fromEntries(named),
        NODE_EXTRA_CA_CERTS: certificates.ca,
      });
      await request(api.url).get('/health/ready').expect(200);
      const { rows } = await postgres.query(
        "select bool_and(ssl) as encrypted from pg_stat_ssl join pg_stat_activity using (pid) where application_name like 'pacekeeper%'",
      );
      expect(rows).toEqual([{ encrypted: true }]);
      expect(await api.stop()).toBe(0);
    },
  );

  it('sslmode=no-verify accepts a Postgres certificate of an unknown CA, and sslmode=require refuses it as verify-full does', async () => {
    const { PATH } = process.env;
    const migrate = (mode: string) =>
      promisify(execFile)(process.execPath, [MIGRATE, 'up'], {
        env: { PATH, DATABASE_URL: withMode(mode), START_WAIT_SECONDS: '0' },
      });
    expect((await migrate('no-verify')).stdout).toContain('nothing to apply');
    for (const mode of ['require', 'verify-full'])
      await expect(migrate(mode)).rejects.toMatchObject({ stderr: expect.stringContaining('certificate') });
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
