// npm run check [-- --fix] [--without-tests]: all checks that need no servers.
import './launcher/node-version.mjs';
import { ensureBuilt } from './launcher/build.mjs';
import { ensureConsoleTypes } from './launcher/console.mjs';
import { inRoot, root } from './launcher/files.mjs';
import { runJest } from './launcher/jest.mjs';
import { ensurePackages, tool } from './launcher/packages.mjs';
import { run } from './launcher/run.mjs';
import { endLine, readArguments } from './launcher/terminal.mjs';

const AT_A_TIME = 2;

await run(async ({ args, children }) => {
  const { values } = readArguments(
    args,
    {
      fix: { type: 'boolean', default: false },
      // CI sets this flag, because its next step runs all tests.
      'without-tests': { type: 'boolean', default: false },
    },
    'npm run check [-- --fix] [--without-tests]',
  );
  await ensurePackages(children);
  await ensureConsoleTypes(children);
  const { 'unit tests': tests, ...others } = checks(children, values.fix);
  const failures = await runAll(values['without-tests'] ? others : { 'unit tests': tests, ...others });
  for (const { name, output } of failures) console.log(`\n── ${name} ──\n${output.trimEnd()}`);
  console.log(
    failures.length === 0
      ? '\nall checks passed'
      : `\nfailed: ${failures.map(({ name }) => name).join(', ')}`,
  );
  return failures.length === 0 ? 0 : 1;
});

/** Each check returns `{ code, output }`. Two checks run at a time, so the longest come first. */
function checks(children, fix) {
  const node = (...args) => children.run(args[0], process.execPath, args, { cwd: root });
  return {
    lint: () =>
      node(
        tool('eslint/bin/eslint.js'),
        '.',
        '--max-warnings=0',
        '--cache',
        '--cache-location=.cache/eslint/',
        ...(fix ? ['--fix'] : []),
      ),
    'unit tests': () =>
      runJest(children, ['--selectProjects', 'unit', '--maxWorkers', '50%'], { stdio: 'pipe' }),
    types: () => node(tool('typescript/bin/tsc'), '-p', 'tsconfig.json'),
    'console types': () => node(tool('typescript/bin/tsc'), '-p', 'apps/console/tsconfig.json'),
    format: () =>
      node(
        tool('prettier/bin/prettier.cjs'),
        '.',
        '--log-level=warn',
        fix ? '--write' : '--check',
        '--cache',
        '--cache-location=.cache/prettier',
      ),
    boundaries: () =>
      node(
        tool('dependency-cruiser/bin/dependency-cruise.mjs'),
        '--config=.dependency-cruiser.cjs',
        'apps',
        'libs',
      ),
    openapi: async () => {
      await ensureBuilt(children);
      return node(inRoot('dist/apps/api/src/openapi.main.js'), '--check');
    },
  };
}

async function runAll(all) {
  const waiting = Object.entries(all);
  const failures = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const failure = await runOne(...next);
      if (failure) failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return failures;
}

async function runOne(name, check) {
  const startedAt = performance.now();
  const { code, output } = await check().catch((error) => ({ code: 1, output: error.message }));
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  endLine();
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(13)} ${seconds} s`);
  return code === 0 ? null : { name, output };
}
