// npm run bench [name]: one benchmark or all, on durable servers of their own.
import './launcher/node-version.mjs';
import { existsSync, readdirSync } from 'node:fs';
import { ensureBuilt } from './launcher/build.mjs';
import { Failure } from './launcher/failure.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { inRoot, root } from './launcher/paths.mjs';
import { run } from './launcher/run.mjs';
import { startThrowAwayServers } from './launcher/throw-away-servers.mjs';

const SUFFIX = '.bench.js';

await run(async ({ args: [wanted, ...rest], children }) => {
  await ensurePackages(children);
  await ensureBuilt(children);
  const names = benchmarks();
  if (wanted && !names.includes(wanted)) {
    throw new Failure(`There is no benchmark "${wanted}". There are: ${names.join(', ') || 'none yet'}.`);
  }

  const urls = await startThrowAwayServers(children, { isDurable: true });
  let worst = 0;
  for (const name of wanted ? [wanted] : names) {
    const file = inRoot('dist/bench', `${name}${SUFFIX}`);
    const env = { ...process.env, ...urls };
    const { code } = await children.run(name, process.execPath, [file, ...rest], {
      cwd: root,
      env,
      stdio: 'inherit',
    });
    worst = Math.max(worst, code);
  }
  return worst;
});

function benchmarks() {
  const folder = inRoot('dist/bench');
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
  return files.map((name) => name.slice(0, -SUFFIX.length)).sort();
}
