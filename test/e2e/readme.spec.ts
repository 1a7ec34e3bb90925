import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { ready, removeRunFolder, startLauncher, type Started } from '../harness/launched.js';

// The blocks take this long only if the test fails.
const PASTED_MS = 180_000;
jest.setTimeout(2 * PASTED_MS);

const NOT_RUN = 'readme.spec.ts does not run this block';
// A block that does not end by itself.
const IN_BACKGROUND = 'readme.spec.ts runs this block in the background';
const FENCED = /^(?:<!-- (?<note>[^\n]*) -->\n\n)?```(?<language>\w+)\n(?<text>[^]*?)^```$/gm;
const BETWEEN = '=== next block ===';

interface Block {
  readonly commands: string;
  readonly note: string | undefined;
  /** The output that the README shows below the commands: lines of text, and JSON values in their order. */
  readonly lines: readonly string[];
  readonly values: readonly unknown[];
}

const readme = readFileSync(path.resolve(import.meta.dirname, '../../README.md'), 'utf8');
const all = blocksOf(readme);
const blocks = all.filter(({ note }) => note !== NOT_RUN && note !== IN_BACKGROUND);

describe('README', () => {
  let folder: string;
  let checkout: string;
  let started: Started;
  let outputs: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'pacekeeper-readme-'));
    const local = path.join(folder, 'local');
    checkout = path.join(folder, 'checkout');
    mkdirSync(checkout);
    symlinkSync(local, path.join(checkout, '.local'));
    symlinkSync(path.resolve('dist'), path.join(checkout, 'dist'));
    // These ports differ from those of other tests.
    started = startLauncher(local, { PORT: '14000', WORKER_PORT: '14100', SIMULATOR_PORT: '14200' });
    await ready(started);
    outputs = paste();
  });
  afterAll(async () => {
    started.process.kill('SIGTERM');
    await started.ended;
    await removeRunFolder(path.join(folder, 'local'));
    rmSync(folder, { recursive: true, force: true });
  });

  it('README has shell blocks and shows the output of most blocks', () => {
    expect(blocks.length).toBeGreaterThan(8);
    expect(blocks.filter(({ values }) => values.length > 0).length).toBeGreaterThan(7);
  });

  it.each(blocks.map(({ commands }, index) => [firstCommand(commands), index] as const))(
    'a README block pasted after `npm start` succeeds and prints output of the shape shown: %s',
    (_, index) => {
      const { lines, values } = blocks[index]!;
      const output = outputs[index] ?? 'was not reached';
      for (const line of lines) expect(output.split('\n')).toContain(line);
      const answers = valuesIn(output);
      if (values.length > 0) expect(answers).toHaveLength(values.length);
      for (const [at, value] of values.entries()) expectShape(answers[at], value);
    },
  );

  it('the README block of webhooks registers an endpoint, and its receiver prints a delivery', async () => {
    const [receiver, ...more] = all.filter(({ note }) => note === IN_BACKGROUND);
    expect(more).toEqual([]);
    const variables = blocks.find(({ commands }) => commands.startsWith('API='));
    const port = String(await freePort());
    const script = `${variables?.commands}\n${receiver?.commands.replaceAll('4500', port)}`;
    // A process group of its own, because the end of the shell would not end the receiver.
    const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: checkout,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const ended = once(shell, 'close');
    try {
      const url = `http://127.0.0.1:${port}/`;
      // A request without a signature is refused.
      await eventually('the receiver listens', () =>
        fetch(url, { method: 'POST', body: '{}' }).then(
          ({ status }) => status === 400,
          () => false,
        ),
      );
      const { api, service_key } = JSON.parse(readFileSync(path.join(folder, 'local/run.json'), 'utf8')) as {
        api: string;
        service_key: string;
      };
      const headers = { authorization: `Bearer ${service_key}` };
      const answer = await fetch(`${api}/v1/webhook-endpoints`, { headers });
      const { items } = (await answer.json()) as { items: ReadonlyArray<{ id: string; url: string }> };
      const endpoint = items.find((one) => one.url === url);
      const sent = await fetch(`${api}/v1/webhook-endpoints/${endpoint?.id}/test`, {
        method: 'POST',
        headers,
      });
      expect(sent.ok).toBe(true);
      await eventually('the delivery is printed', () =>
        printed.includes(`"type":"test","subject_id":"${endpoint?.id}"`),
      );
    } finally {
      if (shell.pid !== undefined && shell.exitCode === null) process.kill(-shell.pid, 'SIGKILL');
      await ended;
    }
  });

  it('each curl line that `npm start` shows works when it is pasted in any folder, and shows data', () => {
    const lines = started.seen().match(/^ *curl .*$/gm) ?? [];
    const paste = (line: string) => execFileSync('bash', ['-c', line], { cwd: tmpdir(), encoding: 'utf8' });
    const answers = lines.map((line) => JSON.parse(paste(line)) as { items?: object[]; budgets?: object[] });
    expect(answers.map(({ items, budgets }) => (items ?? budgets ?? []).length)).toEqual([1, 3, 4]);
  });

  it('the demo athlete is connected to all vendors', () => {
    const { api, tokens } = JSON.parse(readFileSync(path.join(folder, 'local/run.json'), 'utf8')) as {
      api: string;
      tokens: { athlete: string };
    };
    const curl = ['-s', '-H', `authorization: Bearer ${tokens.athlete}`, `${api}/v1/connections`];
    const { items } = JSON.parse(execFileSync('curl', curl, { encoding: 'utf8' })) as {
      items: ReadonlyArray<{ provider: string; status: string }>;
    };
    expect(items.map(({ provider, status }) => `${provider} ${status}`).sort()).toEqual([
      'oura active',
      'polar active',
      'strava active',
      'whoop active',
    ]);
  });

  /** Runs all blocks in one shell, because a block uses the variables of earlier ones. The first command that fails ends the shell. */
  function paste(): string[] {
    const script = blocks.map(({ commands }) => commands).join(`echo; echo '${BETWEEN}'\n`);
    const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: checkout,
      encoding: 'utf8',
      timeout: PASTED_MS,
    });
    if (status !== 0) throw new Error(`a command of the README ended with ${status}:\n${stdout}\n${stderr}`);
    return stdout.split(`${BETWEEN}\n`);
  }
});

function blocksOf(markdown: string): Block[] {
  const found: { commands: string; note: string | undefined; lines: string[]; values: unknown[] }[] = [];
  for (const { groups } of markdown.matchAll(FENCED)) {
    const { note, language, text = '' } = groups!;
    const last = found.at(-1);
    if (language === 'sh') found.push({ commands: text, note, lines: [], values: [] });
    else if (language === 'json') last?.values.push(...valuesIn(text));
    // Pictures and addresses are not output.
    else if (last && !/^\s|:\/\//m.test(text)) last.lines.push(...text.trim().split('\n'));
  }
  return found;
}

function firstCommand(commands: string): string {
  return commands.split('\n').find((line) => line.includes('curl')) ?? commands;
}

/** The JSON objects and the numbers in a text, in their order. */
function valuesIn(text: string): unknown[] {
  const values: unknown[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const number = /^-?\d+(?=\n|$)/.exec(text.slice(at, at + 20));
    if (text[at] === '{') {
      const end = endOfObject(text, at);
      values.push(JSON.parse(text.slice(at, end)));
      at = end - 1;
    } else if (number && !/[^\s}]/.test(text[at - 1] ?? '')) {
      values.push(Number(number[0]));
      at += number[0].length - 1;
    }
  }
  return values;
}

function endOfObject(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (isInString && character === '\\') at += 1;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && character === '{') depth += 1;
    else if (!isInString && character === '}' && (depth -= 1) === 0) return at + 1;
  }
  throw new Error(`an object without an end: ${text.slice(start, start + 80)}`);
}

/** Expects each field that the README shows, with a value of the same type. A shown null allows any type. A bare number must be equal. */
function expectShape(actual: unknown, shown: unknown): void {
  if (typeof shown === 'number') return expect(actual).toBe(shown);
  expectKind(actual, shown);
}

function expectKind(actual: unknown, shown: unknown): void {
  if (shown === null) return;
  if (Array.isArray(shown)) {
    expect(actual).toEqual(expect.any(Array));
    if (shown.length > 0) expectKind((actual as unknown[])[0], shown[0]);
  } else if (typeof shown === 'object') {
    for (const [key, value] of Object.entries(shown)) {
      expect(actual).toHaveProperty([key]);
      expectKind((actual as Record<string, unknown>)[key], value);
    }
  } else expect([actual, typeof actual]).toEqual([actual, typeof shown]);
}
