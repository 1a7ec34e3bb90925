import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

// The launcher is plain JavaScript: what is used of it is declared here.
interface Launcher {
  arguments: {
    readArguments(args: string[], options: object, usage: string): { values: Record<string, unknown> };
  };
  files: { writeAtomically(file: string, content: string, options?: { mode: number }): void };
  jest: { countsOf(report: object | null): object | null };
  lock: {
    takeLock(file: string): { pid: number } | null;
    holderOf(file: string): { pid: number } | null;
    releaseLock(file: string): void;
  };
  'node-version': { problemWithNode(version: string): string | null };
  packages: { isInstalledFrom(lockfile: object | null, record: object | null): boolean };
  ports: {
    nextFreePort(wanted: number, taken?: number[]): Promise<number>;
    anyFreePort(preferred?: number): Promise<number>;
  };
  'process-identity': {
    bornAt(pid: number): string | null;
    isAlive(process: { pid: number; born: string | null }): boolean;
  };
  programs: { isAtLeast(version: string, minimum: string): boolean };
  secrets: { ensureSecrets(folder: string): Record<string, string> };
  'servers/nats': {
    configurationFor(options: { data: string; port: number; version: string; isDurable: boolean }): string;
  };
  tokens: { makeToken(options: { subject: string; isAdmin?: boolean; secret: string }): string };
}

async function launcher<Name extends keyof Launcher>(name: Name): Promise<Launcher[Name]> {
  const file = new URL(`../../bin/launcher/${name}.mjs`, import.meta.url);
  return (await import(file.href)) as Launcher[Name];
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'launcher-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('ports', () => {
  it('moves on from a port that is taken, and from one already promised', async () => {
    const { nextFreePort } = await launcher('ports');
    const { server, port } = await takenPort();
    try {
      const next = await nextFreePort(port);
      expect(next).toBeGreaterThan(port);
      expect(await nextFreePort(port, [next])).toBeGreaterThan(next);
    } finally {
      server.close();
    }
  });

  it('keeps to the preferred port as long as it is free', async () => {
    const { anyFreePort } = await launcher('ports');
    const free = await anyFreePort();
    expect(await anyFreePort(free)).toBe(free);

    const { server, port } = await takenPort();
    expect(await anyFreePort(port)).not.toBe(port);
    server.close();
  });
});

describe('packages', () => {
  const lockfile = {
    packages: {
      '': { version: '0.1.0' },
      'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
      'node_modules/for-macs': { version: '1.0.0', integrity: 'sha512-m', optional: true },
    },
  };
  const record = { packages: { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' } } };

  it('are installed when npm recorded this lockfile, leaving out what is for other machines', async () => {
    const { isInstalledFrom } = await launcher('packages');
    expect(isInstalledFrom(lockfile, record)).toBe(true);
  });

  it.each([
    ['nothing is installed', null],
    ['a package is missing', { packages: {} }],
    [
      'another version is installed',
      { packages: { 'node_modules/a': { version: '1.0.1', integrity: 'sha512-b' } } },
    ],
    [
      'something else is installed too',
      { packages: { ...record.packages, 'node_modules/b': { version: '1.0.0' } } },
    ],
  ])('are not when %s', async (_, installed) => {
    const { isInstalledFrom } = await launcher('packages');
    expect(isInstalledFrom(lockfile, installed)).toBe(false);
  });
});

describe('processes', () => {
  it('are known by pid and birth, so that a recycled pid is nobody we know', async () => {
    const { bornAt, isAlive } = await launcher('process-identity');
    const born = bornAt(process.pid);
    expect(isAlive({ pid: process.pid, born })).toBe(true);
    expect(isAlive({ pid: process.pid, born: `${born}-another` })).toBe(false);
    expect(isAlive({ pid: process.pid, born: null })).toBe(false);
  });

  it('have no birth once they ended', async () => {
    const { bornAt } = await launcher('process-identity');
    const child = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => child.once('close', resolve));
    expect(bornAt(child.pid!)).toBeNull();
  });
});

describe('the lock', () => {
  it('names its holder to everyone else, until it is released', async () => {
    const { takeLock, releaseLock, holderOf } = await launcher('lock');
    const file = path.join(folder, 'lock');
    expect(takeLock(file)).toBeNull();
    expect(takeLock(file)?.pid).toBe(process.pid);
    releaseLock(file);
    expect(holderOf(file)).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is nobody’s when its holder died, even if the pid lives on in another process', async () => {
    const { takeLock } = await launcher('lock');
    const file = path.join(folder, 'lock');
    writeFileSync(file, JSON.stringify({ pid: process.pid, born: 'before this process' }));
    expect(takeLock(file)).toBeNull();
  });

  it('is nobody’s when it cannot be read', async () => {
    const { takeLock } = await launcher('lock');
    const file = path.join(folder, 'lock');
    writeFileSync(file, '{"pid":');
    expect(takeLock(file)).toBeNull();
  });
});

describe('tokens', () => {
  it('are HS256 JWTs for the subject, valid thirty days', async () => {
    const { makeToken } = await launcher('tokens');
    const [header, claims, signature] = makeToken({ subject: 'a-1', secret: 'secret' }).split('.') as [
      string,
      string,
      string,
    ];
    expect(decode(header)).toEqual({ alg: 'HS256', typ: 'JWT' });
    const { iat, exp, ...rest } = decode(claims) as { iat: number; exp: number };
    expect(rest).toEqual({ sub: 'a-1', iss: 'pacekeeper-local', aud: 'pacekeeper' });
    expect(exp - iat).toBe(30 * 24 * 3600);
    expect(signature).toBe(createHmac('sha256', 'secret').update(`${header}.${claims}`).digest('base64url'));
  });

  it('carry the role of an admin', async () => {
    const { makeToken } = await launcher('tokens');
    const [, claims] = makeToken({ subject: 'a-1', isAdmin: true, secret: 'secret' }).split('.') as [
      string,
      string,
    ];
    expect(decode(claims)).toMatchObject({ role: 'admin' });
  });
});

describe('secrets', () => {
  it('are made once, for this user’s eyes only', async () => {
    const { ensureSecrets } = await launcher('secrets');
    const first = ensureSecrets(folder);
    expect(ensureSecrets(folder)).toEqual(first);
    expect(statSync(path.join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
  });

  it('hold a versioned key of 32 bytes', async () => {
    const { ensureSecrets } = await launcher('secrets');
    const [version, key] = ensureSecrets(folder).ENCRYPTION_KEYS!.split(':') as [string, string];
    expect(version).toBe('1');
    expect(Buffer.from(key, 'base64')).toHaveLength(32);
  });
});

describe('arguments', () => {
  const options = { athlete: { type: 'string' }, admin: { type: 'boolean' } };

  it('are read', async () => {
    const { readArguments } = await launcher('arguments');
    const { values } = readArguments(['--athlete', 'a-1', '--admin'], options, 'usage');
    expect({ ...values }).toEqual({ athlete: 'a-1', admin: true });
  });

  it.each([[['--atlete', 'a-1']], [['--athlete']], [['a-1']]])('answer %j with the usage', async (args) => {
    const { readArguments } = await launcher('arguments');
    expect(() => readArguments(args, options, 'npm run token')).toThrow(/Usage: npm run token$/);
  });
});

describe('versions', () => {
  it('compare by number', async () => {
    const { isAtLeast } = await launcher('programs');
    expect(isAtLeast('2.10.1', '2.9.4')).toBe(true);
    expect(isAtLeast('2.9.3', '2.9.4')).toBe(false);
    expect(isAtLeast('15', '14')).toBe(true);
    expect(isAtLeast('7', '6.2')).toBe(true);
    expect(isAtLeast('6.0.16', '6.2')).toBe(false);
  });

  it('of Node too old are answered with one sentence', async () => {
    const { problemWithNode } = await launcher('node-version');
    expect(problemWithNode('20.19.0')).toBeNull();
    expect(problemWithNode('24.1.0')).toBeNull();
    expect(problemWithNode('20.18.3')).toBe('Pacekeeper needs Node 20.19 or newer; this is Node 20.18.3.');
  });
});

describe('a run that is interrupted', () => {
  const RUN = new URL('../../bin/launcher/run.mjs', import.meta.url).href;
  // The child notes its pid, and the run says so, once both can be interrupted.
  const program = (isOrdinary: boolean) => `
    import { run } from '${RUN}';
    await run(async ({ children, interruptionIsSuccess, untilInterrupted }) => {
      const child = children.start('sleeper', 'sleep', ['60'], { log: process.argv[1] });
      if (${isOrdinary}) interruptionIsSuccess();
      console.log(child.pid);
      await untilInterrupted;
    });`;

  it.each([
    ['SIGTERM', true, 0],
    ['SIGINT', true, 0],
    ['SIGHUP', true, 0],
    ['SIGTERM', false, 143],
    ['SIGINT', false, 130],
    ['SIGHUP', false, 129],
  ] as const)(
    'by %s, which is ordinary: %s, ends what it started and answers %i',
    async (signal, isOrdinary, code) => {
      const { bornAt } = await launcher('process-identity');
      const args = ['--input-type=module', '--eval', program(isOrdinary), path.join(folder, 'sleeper.log')];
      const runner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      const sleeper = await new Promise<number>((resolve) =>
        runner.stdout.once('data', (bytes: Buffer) => resolve(Number(bytes.toString()))),
      );
      expect(bornAt(sleeper)).not.toBeNull();
      runner.kill(signal);
      expect(await new Promise((resolve) => runner.once('close', resolve))).toBe(code);
      expect(bornAt(sleeper)).toBeNull();
    },
  );
});

describe('the NATS configuration', () => {
  it('asks for a sync with every message only where the server knows how', async () => {
    const { configurationFor } = await launcher('servers/nats');
    const given = { data: '/data', port: 4222, isDurable: true };
    expect(configurationFor({ ...given, version: '2.10.0' })).toContain('sync_interval: always');
    expect(configurationFor({ ...given, version: '2.9.10' })).not.toContain('sync_interval');
    expect(configurationFor({ ...given, version: '2.12.0', isDurable: false })).not.toContain(
      'sync_interval',
    );
  });
});

describe('test counts', () => {
  it('include a test file that could not be loaded among the failed', async () => {
    const { countsOf } = await launcher('jest');
    const report = {
      numPassedTests: 3,
      numFailedTests: 1,
      numRuntimeErrorTestSuites: 1,
      numPendingTests: 2,
      numTodoTests: 1,
    };
    expect(countsOf(report)).toEqual({ passed: 3, failed: 2, skipped: 3 });
    expect(countsOf(null)).toBeNull();
  });
});

describe('files', () => {
  it('are replaced as a whole and leave no draft', async () => {
    const { writeAtomically } = await launcher('files');
    const file = path.join(folder, 'run.json');
    writeAtomically(file, 'old');
    writeAtomically(file, 'new', { mode: 0o600 });
    expect(readFileSync(file, 'utf8')).toBe('new');
    expect(readdirSync(folder)).toEqual(['run.json']);
  });
});

const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as unknown;

async function takenPort(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as { port: number }).port };
}
