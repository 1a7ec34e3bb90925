import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { environment, foreignNames, variablesOf } from '#platform';
import { loadProductConfig } from '#vendors';
import { VENDOR_SETTINGS } from '../../libs/vendors/src/settings.js';
import { composed, type ComposeService } from '../harness/compose.js';

// `npm test` gets Docker Compose if it can. Its `config` needs no Docker.
const COMPOSE = process.env.COMPOSE_PATH;
const withCompose = COMPOSE ? it : it.skip;
function configOf(args: readonly string[], input = '') {
  const file = input ? ['--file', '-', '--project-directory', '.'] : [];
  const { PATH } = process.env;
  return spawnSync(COMPOSE ?? '', [...file, ...args, 'config', '--format', 'json'], {
    encoding: 'utf8',
    input,
    env: { PATH, PACEKEEPER_ENV: 'deploy/simulator.env' },
  });
}

const { services, volumes } = composed();
const all = Object.entries(services);
const ours = all.filter(([, { image }]) => image === 'pacekeeper');
const SECONDS_TO_STOP = 25;

const simulatorEnv = Object.fromEntries(
  [...readFileSync('deploy/simulator.env', 'utf8').matchAll(/^([A-Z_]+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);
const known = new Set([
  ...Object.keys({ ...environment, ...variablesOf(VENDOR_SETTINGS) }),
  ...foreignNames,
  // The Dockerfile's health check reads this one.
  'HEALTH_URL',
]);
const programOf = ({ command = '' }: ComposeService) => /^node (dist\/\S+)\.js/.exec(command)?.[1];

describe('docker-compose.yml', () => {
  it('docker-compose.yml has the services of the product, each with the keys that Compose knows', () => {
    expect(all.map(([name]) => name)).toEqual([
      ...['postgres', 'redis', 'nats', 'migrate', 'api', 'worker', 'simulator'],
    ]);
    const keys = [
      ...['build', 'image', 'user', 'command', 'environment', 'env_file', 'ports', 'volumes', 'networks'],
      ...['depends_on', 'healthcheck', 'restart', 'profiles', 'stop_grace_period', 'init', 'read_only'],
      ...['tmpfs', 'cap_drop', 'security_opt'],
    ];
    for (const [, service] of all) expect(keys).toEqual(expect.arrayContaining(Object.keys(service)));
  });

  withCompose(
    'docker compose config accepts the file without a warning, with and without the simulator (skipped without Compose)',
    () => {
      for (const profile of [[], ['--profile', 'simulator']]) {
        const { status, stdout, stderr } = configOf(profile);
        expect([status, stderr]).toEqual([0, '']);
        const { services: read } = JSON.parse(stdout) as { services: Record<string, ComposeService> };
        const expected = all.filter(([, { profiles }]) => !profiles || profile.length > 0);
        expect(Object.keys(read).sort()).toEqual(expected.map(([name]) => name).sort());
        for (const [name, { image }] of expected) expect(read[name]?.image).toBe(image);
      }
      const broken = readFileSync('docker-compose.yml', 'utf8').replace('read_only:', 'read-only:');
      expect(configOf([], broken).stderr).toContain('read-only');
    },
  );

  it('every container is read-only and without capabilities, and every image of others has a digest', () => {
    for (const [name, { read_only, cap_drop, image }] of all) {
      expect([name, read_only, cap_drop]).toEqual([name, true, ['ALL']]);
      expect(image).toMatch(/^pacekeeper$|@sha256:[0-9a-f]{64}$/);
    }
  });

  it('a service waits only for services that exist and say when they are ready', () => {
    for (const [, { depends_on = {} }] of all)
      for (const [name, { condition }] of Object.entries(depends_on)) {
        const isReady = condition === 'service_healthy' && services[name]?.healthcheck?.test;
        expect([name, condition, Boolean(isReady)]).toEqual([name, condition, name !== 'migrate']);
        if (name === 'migrate') expect(condition).toBe('service_completed_successfully');
      }
    expect(Object.keys(services.api?.depends_on ?? {})).toEqual(['migrate', 'redis', 'nats']);
  });

  it('every file and volume that a service mounts exists', () => {
    for (const volume of all.flatMap(([, service]) => service.volumes ?? [])) {
      const [source = ''] = volume.split(':');
      expect([source, source.startsWith('./') ? existsSync(source) : source in volumes]).toEqual([
        source,
        true,
      ]);
    }
  });

  it('our services run programs that exist, with variables that exist, and have the time that a process takes to stop', () => {
    for (const [, service] of ours) {
      expect(existsSync(`${programOf(service)?.replace('dist/', '')}.ts`)).toBe(true);
      expect(Object.keys(service.environment ?? {}).filter((name) => !known.has(name))).toEqual([]);
      expect(parseInt(service.stop_grace_period ?? '', 10)).toBeGreaterThan(SECONDS_TO_STOP);
    }
  });

  it('health checks and published ports lead to the ports on which the processes listen', () => {
    const { http } = loadProductConfig({ ...simulatorEnv, ...services.api?.environment });
    const healthOf = (name: string) => services[name]?.environment?.HEALTH_URL;
    expect(readFileSync('Dockerfile', 'utf8')).toContain(
      `ENV HEALTH_URL=http://127.0.0.1:${http.port}/health/live`,
    );
    expect(healthOf('worker')).toBe(`http://127.0.0.1:${http.workerPort}/health/live`);
    expect(healthOf('simulator')).toBe(`http://127.0.0.1:${simulatorPort()}/__sim/stats`);
    // The simulator's default is loopback, where no other container reaches it.
    expect(services.simulator?.environment?.SIMULATOR_HOST).toBe('0.0.0.0');
    expect(services.api?.ports).toEqual([`127.0.0.1:${http.port}:${http.port}`]);
    expect(services.simulator?.ports).toEqual([`127.0.0.1:${simulatorPort()}:${simulatorPort()}`]);
  });

  it('other passwords and host ports replace the defaults, in servers and URLs alike', () => {
    const other = composed({
      POSTGRES_PASSWORD: 'one',
      REDIS_PASSWORD: 'two',
      NATS_PASSWORD: 'three',
      API_HOST_PORT: '8000',
    }).services;
    expect(other.api?.environment).toMatchObject({
      DATABASE_URL: 'postgres://pacekeeper:one@postgres:5432/pacekeeper',
      REDIS_URL: 'redis://default:two@redis:6379',
      NATS_URL: 'nats://pacekeeper:three@nats:4222',
    });
    expect(other.postgres?.environment).toMatchObject({ POSTGRES_PASSWORD: 'one' });
    expect(other.redis?.command).toMatch(/ --requirepass two$/);
    expect(other.nats?.command).toMatch(/ --pass three$/);
    expect(other.api?.ports).toEqual(['127.0.0.1:8000:3000']);
  });
});

describe('the simulator profile', () => {
  it('the profile has a configuration that the processes accept, with every vendor at the simulator', () => {
    expect(Object.keys(simulatorEnv).filter((name) => !known.has(name))).toEqual([]);
    const { vendors, http } = loadProductConfig({
      NODE_ENV: 'production',
      ...simulatorEnv,
      ...services.api?.environment,
    });
    const [simulator] = services.simulator?.networks?.default?.aliases ?? [];
    const [api] = services.api?.networks?.default?.aliases ?? [];
    for (const { apiUrl, oauthUrl, client } of Object.values(vendors)) {
      expect(client).toBeDefined();
      for (const url of [apiUrl, oauthUrl]) expect(new URL(url).host).toBe(`${simulator}:${simulatorPort()}`);
    }
    expect(new URL(simulatorEnv.BROKER_URL ?? '').host).toBe(`${simulator}:${simulatorPort()}`);
    expect(http.publicUrl).toBe(`http://${api}:${http.port}`);
  });

  it('the line that the README and docker-compose.yml name starts the profile with this file', () => {
    const line = 'PACEKEEPER_ENV=deploy/simulator.env docker compose --profile simulator up --build';
    for (const file of ['README.md', 'docker-compose.yml'])
      expect(readFileSync(file, 'utf8')).toContain(line);
    expect(services.simulator?.profiles).toEqual(['simulator']);
    expect(composed({ PACEKEEPER_ENV: 'deploy/simulator.env' }).services.api?.env_file).toEqual([
      { path: 'deploy/simulator.env', required: false },
    ]);
  });
});

function simulatorPort(): string {
  return services.simulator?.environment?.SIMULATOR_PORT ?? '';
}
