import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

// The launcher is plain JavaScript, so the functions that these tests call are declared here.
interface Launcher {
  files: {
    writeAtomically(file: string, content: string, options?: { mode: number }): void;
    takeLock(file: string): { pid: number } | null;
    holderOf(file: string): { pid: number } | null;
    releaseLock(file: string): void;
  };
  'last-release': { newestRelease(tags: readonly string[]): string | undefined };
  'node-version': { problemWithNode(version: string): string | null };
  packages: {
    isInstalledFrom(lockfile: object | null, record: object | null): boolean;
  };
  ports: {
    nextFreePort(wanted: number, taken?: number[]): Promise<number>;
    anyFreePort(preferred?: number): Promise<number>;
  };
  processes: {
    bornAt(pid: number): string | null;
    isAlive(process: { pid: number; born: string | null }): boolean;
    until<T>(check: () => Promise<T> | T, times: { withinMs: number; everyMs?: number }): Promise<T | null>;
  };
  programs: {
    isAtLeast(version: string, minimum: string): boolean;
    optionalIn(
      name: string,
      programs: { found: Record<string, { file: string }>; complaint: string | null },
    ): string | undefined;
  };
  secrets: {
    ensureSecrets(folder: string): Record<string, string>;
    readSecrets(folder: string): Record<string, string> | null;
    makeToken(options: { subject: string; isAdmin?: boolean; secret: string }): string;
  };
  servers: {
    natsConfiguration(options: {
      data: string;
      port: number;
      password: string;
      version: string;
      isDurable: boolean;
    }): string;
  };
  terminal: {
    readArguments(args: string[], options: object, usage: string): { values: Record<string, unknown> };
  };
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

it('newestRelease returns the highest version from 0.2.0 on, number by number, and no preview', async () => {
  const { newestRelease } = await launcher('last-release');
  expect(newestRelease(['v0.2.0', 'v0.10.1', 'v0.9.3', 'v0.11.0-rc.1', 'nightly'])).toBe('v0.10.1');
  expect(newestRelease(['v0.1.0', 'v0.2', ''])).toBeUndefined();
});

describe('ports', () => {
  it('nextFreePort skips a taken port and a port in the list of taken ones', async () => {
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

  it('anyFreePort returns the preferred port if it is free, and another port if it is taken', async () => {
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

  it('isInstalledFrom is true if npm’s record has all packages of the lockfile, apart from optional packages of other systems', async () => {
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
  ])('packages do not count as installed when %s', async (_, installed) => {
    const { isInstalledFrom } = await launcher('packages');
    expect(isInstalledFrom(lockfile, installed)).toBe(false);
  });
});

describe('processes', () => {
  it('isAlive is true only if pid and start time match the record, so a reused pid counts as ended', async () => {
    const { bornAt, isAlive } = await launcher('processes');
    const born = bornAt(process.pid);
    expect(isAlive({ pid: process.pid, born })).toBe(true);
    expect(isAlive({ pid: process.pid, born: `${born}-another` })).toBe(false);
    expect(isAlive({ pid: process.pid, born: null })).toBe(false);
  });

  it('bornAt returns null for a process that has ended', async () => {
    const { bornAt } = await launcher('processes');
    const child = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => child.once('close', resolve));
    expect(bornAt(child.pid!)).toBeNull();
  });

  it('until waits on although the clock is set ahead by a day, and not for longer if it is set back', async () => {
    const { until } = await launcher('processes');
    const dateNow = jest.spyOn(Date, 'now');
    const realMs = performance.timeOrigin;
    try {
      let looks = 0;
      const third = () => {
        dateNow.mockReturnValue(realMs + 86_400_000);
        looks += 1;
        return looks === 3;
      };
      expect(await until(third, { withinMs: 60_000, everyMs: 1 })).toBe(true);
      const never = () => {
        dateNow.mockReturnValue(realMs - 86_400_000);
        return false;
      };
      expect(await until(never, { withinMs: 20, everyMs: 1 })).toBeNull();
    } finally {
      dateNow.mockRestore();
    }
  });
});

describe('the lock', () => {
  it('takeLock returns the holder of a taken lock, and releaseLock deletes the lock file', async () => {
    const { takeLock, releaseLock, holderOf } = await launcher('files');
    const file = path.join(folder, 'lock');
    expect(takeLock(file)).toBeNull();
    expect(takeLock(file)?.pid).toBe(process.pid);
    releaseLock(file);
    expect(holderOf(file)).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takeLock takes a lock whose holder has ended, even if another process has the same pid', async () => {
    const { takeLock } = await launcher('files');
    const file = path.join(folder, 'lock');
    writeFileSync(file, JSON.stringify({ pid: process.pid, born: 'before this process' }));
    expect(takeLock(file)).toBeNull();
  });

  it('takeLock takes a lock whose file is damaged', async () => {
    const { takeLock } = await launcher('files');
    const file = path.join(folder, 'lock');
    writeFileSync(file, '{"pid":');
    expect(takeLock(file)).toBeNull();
  });
});

describe('the folder of a run', () => {
  /** A checkout with only the launcher, so that the test changes no `.local` of this one. Returns the mode of the claimed folder. */
  function claimIn(name: string, before?: number): string {
    cpSync(new URL('../../bin/launcher', import.meta.url), path.join(folder, 'bin/launcher'), {
      recursive: true,
    });
    const claimed = path.join(folder, name);
    if (before !== undefined) {
      mkdirSync(claimed);
      chmodSync(claimed, before);
    }
    const module = path.join(folder, 'bin/launcher/run-folder.mjs');
    const script = `import { claim } from '${module}'; await claim('${claimed}', { recordIn() {} });`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    return (statSync(claimed).mode & 0o777).toString(8);
  }

  it('claim makes .local for this user alone', () => {
    expect(claimIn('.local')).toBe('700');
  });

  it('claim makes a .local private that an earlier version made readable for all', () => {
    expect(claimIn('.local', 0o755)).toBe('700');
  });

  it('claim makes another folder for this user alone, and keeps the mode of an existing one', () => {
    expect([claimIn('own'), claimIn('shared', 0o755)]).toEqual(['700', '755']);
  });
});

describe('tokens', () => {
  it('makeToken makes an HS256 JWT for the subject, valid for thirty days', async () => {
    const { makeToken } = await launcher('secrets');
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

  it('makeToken adds the role admin for an operator', async () => {
    const { makeToken } = await launcher('secrets');
    const [, claims] = makeToken({ subject: 'a-1', isAdmin: true, secret: 'secret' }).split('.') as [
      string,
      string,
    ];
    expect(decode(claims)).toMatchObject({ role: 'admin' });
  });
});

describe('secrets', () => {
  it('ensureSecrets makes the secrets once, in a file that only this user can read', async () => {
    const { ensureSecrets } = await launcher('secrets');
    const first = ensureSecrets(folder);
    expect(ensureSecrets(folder)).toEqual(first);
    expect(statSync(path.join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
  });

  it('ensureSecrets keeps the secrets of an earlier version and makes only the missing ones', async () => {
    const { ensureSecrets, readSecrets } = await launcher('secrets');
    expect(readSecrets(folder)).toBeNull();
    const { redis_password: _new, ...earlier } = ensureSecrets(folder);
    writeFileSync(path.join(folder, 'secrets.json'), JSON.stringify(earlier));
    expect(ensureSecrets(folder)).toEqual({ ...earlier, redis_password: expect.any(String) });
  });

  it.each(['', '{"JWT_SECRET":"a', 'null', '[]', '{}', '{"ENCRYPTION_KEYS":""}', '{"ENCRYPTION_KEYS":1}'])(
    'a damaged secrets.json (%s) is refused and not replaced',
    async (content) => {
      const { ensureSecrets, readSecrets } = await launcher('secrets');
      const file = path.join(folder, 'secrets.json');
      writeFileSync(file, content);
      for (const read of [ensureSecrets, readSecrets])
        expect(() => read(folder)).toThrow(/is damaged .*restore the file, or `npm run reset`/);
      expect(readFileSync(file, 'utf8')).toBe(content);
    },
  );

  it('ENCRYPTION_KEYS is version 1 of a key of 32 bytes', async () => {
    const { ensureSecrets } = await launcher('secrets');
    const [version, key] = ensureSecrets(folder).ENCRYPTION_KEYS!.split(':') as [string, string];
    expect(version).toBe('1');
    expect(Buffer.from(key, 'base64')).toHaveLength(32);
  });
});

describe('arguments', () => {
  const options = { athlete: { type: 'string' }, admin: { type: 'boolean' } };

  it('readArguments returns the values of strings and flags', async () => {
    const { readArguments } = await launcher('terminal');
    const { values } = readArguments(['--athlete', 'a-1', '--admin'], options, 'usage');
    expect({ ...values }).toEqual({ athlete: 'a-1', admin: true });
  });

  it.each([[['--atlete', 'a-1']], [['--athlete']], [['a-1']]])(
    'readArguments refuses %j and ends its message with the usage',
    async (args) => {
      const { readArguments } = await launcher('terminal');
      expect(() => readArguments(args, options, 'npm run token')).toThrow(/Usage: npm run token$/);
    },
  );
});

describe('a program that only tests need', () => {
  it('optionalIn returns the path of an installed PgBouncer', async () => {
    const { optionalIn } = await launcher('programs');
    const found = { pgbouncer: { file: '/usr/sbin/pgbouncer' } };
    expect(optionalIn('pgbouncer', { found, complaint: null })).toBe('/usr/sbin/pgbouncer');
  });

  it.each([
    ['cannot be installed', null, ''],
    ['failed to be installed', 'E: Unable to locate package', 'E: Unable to locate package'],
  ])(
    'optionalIn says that the tests of Prometheus are skipped if Prometheus %s',
    async (_, complaint, reason) => {
      const { optionalIn } = await launcher('programs');
      const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
      expect(optionalIn('prometheus', { found: {}, complaint })).toBeUndefined();
      const text = said.mock.calls.map(([line]) => String(line)).join('');
      said.mockRestore();
      expect(text).toContain('Prometheus is not installed, so its tests are skipped');
      expect(text).toContain(reason);
    },
  );
});

describe('versions', () => {
  it('isAtLeast compares versions number by number', async () => {
    const { isAtLeast } = await launcher('programs');
    expect(isAtLeast('2.10.1', '2.9.4')).toBe(true);
    expect(isAtLeast('2.9.3', '2.9.4')).toBe(false);
    expect(isAtLeast('15', '14')).toBe(true);
    expect(isAtLeast('7', '6.2')).toBe(true);
    expect(isAtLeast('6.0.16', '6.2')).toBe(false);
  });

  it('problemWithNode names the running and the required version for a Node older than 20.19', async () => {
    const { problemWithNode } = await launcher('node-version');
    expect(problemWithNode('20.19.0')).toBeNull();
    expect(problemWithNode('24.1.0')).toBeNull();
    expect(problemWithNode('20.18.3')).toBe('Pacekeeper needs Node 20.19 or newer; this is Node 20.18.3.');
  });
});

describe('a run that is interrupted', () => {
  const RUN = new URL('../../bin/launcher/run.mjs', import.meta.url).href;
  // The program prints the pid of its child once the program and the child can be interrupted.
  const program = (isSuccess: boolean) => `
    import { run } from '${RUN}';
    await run(async ({ children, treatInterruptAsSuccess, untilInterrupted }) => {
      const child = children.start('sleeper', 'sleep', ['60'], { log: process.argv[1] });
      if (${isSuccess}) treatInterruptAsSuccess('stopped');
      console.log(child.pid);
      await untilInterrupted;
    });`;

  it.each([
    ['SIGTERM', 0, 'of npm start', true],
    ['SIGINT', 0, 'of npm start', true],
    ['SIGHUP', 0, 'of npm start', true],
    ['SIGTERM', 143, 'of another command', false],
    ['SIGINT', 130, 'of another command', false],
    ['SIGHUP', 129, 'of another command', false],
  ] as const)(
    'after %s a run ends its child and exits with %i, if it is the run %s',
    async (signal, code, _, isSuccess) => {
      const { bornAt } = await launcher('processes');
      const args = ['--input-type=module', '--eval', program(isSuccess), path.join(folder, 'sleeper.log')];
      const runner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
      let seen = '';
      runner.stderr.setEncoding('utf8').on('data', (text) => (seen += text));
      const sleeper = await new Promise<number>((resolve) =>
        runner.stdout.once('data', (bytes: Buffer) => resolve(Number(bytes.toString()))),
      );
      expect(bornAt(sleeper)).not.toBeNull();
      runner.kill(signal);
      expect(await new Promise((resolve) => runner.once('close', resolve))).toBe(code);
      expect(bornAt(sleeper)).toBeNull();
      expect(seen).toBe(isSuccess ? 'stopping …\nstopped\n' : 'stopping …\n');
    },
  );
});

describe('progress without a terminal', () => {
  const TERMINAL = new URL('../../bin/launcher/terminal.mjs', import.meta.url).href;
  const seenOf = (program: string) => {
    const script = `import { say, step } from '${TERMINAL}'; ${program}`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    return stderr.replaceAll(/\d+\.\d s/g, 'N s');
  };

  it.each([
    ['a step that succeeds', `await step('building', async () => {})`, 'building … N s\n'],
    [
      'a step that fails',
      `await step('building', async () => { throw 1; }).catch(() => {})`,
      'building … failed after N s\n',
    ],
    [
      'a message during a step',
      `await step('importing', async () => say('  half')); say('done')`,
      'importing …\n  half\nimporting … N s\ndone\n',
    ],
    [
      'a step that never ends',
      `void step('building', () => new Promise(() => {})); say('x')`,
      'building …\nx\n',
    ],
  ])('without a terminal, progress prints whole lines for %s', (_, program, lines) =>
    expect(seenOf(program)).toBe(lines),
  );
});

describe('the NATS configuration', () => {
  it('natsConfiguration syncs every message only for durable servers, and only on NATS 2.10 or newer', async () => {
    const { natsConfiguration } = await launcher('servers');
    const given = { data: '/data', port: 4222, password: 'p', isDurable: true };
    expect(natsConfiguration({ ...given, version: '2.10.0' })).toContain('sync_interval: always');
    expect(natsConfiguration({ ...given, version: '2.9.10' })).not.toContain('sync_interval');
    expect(natsConfiguration({ ...given, version: '2.12.0', isDurable: false })).not.toContain(
      'sync_interval',
    );
  });
});

describe('files', () => {
  it('writeAtomically replaces the whole file and leaves no draft', async () => {
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
