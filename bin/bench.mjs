// npm run bench [name]: runs one benchmark, or all of docs/benchmarks.md except the long ones, on throw-away servers that sync to disk.
// --long runs the long ones instead. --page measures nothing and makes docs/benchmarks.md anew from bench/results.
import './launcher/node-version.mjs';
import { ensureBuilt } from './launcher/build.mjs';
import { cachedPackage } from './launcher/cached-package.mjs';
import { root } from './launcher/files.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { browserIn, programsFor } from './launcher/programs.mjs';
import { run } from './launcher/run.mjs';
import { runPrograms } from './launcher/run-programs.mjs';

// Each takes several minutes.
const LONG = ['athlete', 'fairness', 'growth', 'import', 'push'];
// Its last release is of 2019, so it is no dependency of the project.
const BOTTLENECK = { folder: 'peers', name: 'bottleneck', version: '2.19.5', title: 'Bottleneck' };

if (process.argv[2] === '--page')
  await run(async ({ children }) => {
    await ensurePackages(children);
    await ensureBuilt(children);
    const { code } = await children.run('page', process.execPath, ['dist/bench/page.main.js'], {
      cwd: root,
      stdio: 'inherit',
    });
    return code;
  });
else
  await runPrograms({
    folder: 'dist/bench',
    suffix: '.bench.js',
    kind: 'benchmark',
    isDurable: true,
    groups: { '': (name) => !LONG.includes(name), '--long': (name) => LONG.includes(name) },
    async prepare(children, names) {
      const BENCH_PEERS = await cachedPackage(BOTTLENECK, children);
      if (!names.includes('console')) return { BENCH_PEERS };
      return { BENCH_PEERS, CHROMIUM_PATH: browserIn(await programsFor(['chromium'], children)) };
    },
  });
