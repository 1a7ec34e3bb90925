// Programs of one folder of dist/ that need servers of their own: benchmarks, and the long tests of faults.
import { existsSync, readdirSync } from 'node:fs';
import { ensureBuilt } from './build.mjs';
import { inRoot, root } from './files.mjs';
import { ensurePackages } from './packages.mjs';
import { run } from './run.mjs';
import { startThrowAwayServers } from './servers.mjs';
import { Failure } from './terminal.mjs';

const ALL = { '': () => true };

/**
 * Runs the program that the first argument names, or those of a group, and ends with the worst of their exit codes. `groups` has a filter
 * of names for each other argument; without an argument, the group '' runs. `prepare` gets the names of the programs and returns further
 * variables for them.
 */
export async function runPrograms({ folder, suffix, kind, isDurable, groups = ALL, prepare = () => ({}) }) {
  await run(async ({ args: [wanted = '', ...rest], children }) => {
    await ensurePackages(children);
    await ensureBuilt(children);
    const names = programsIn(folder, suffix);
    const group = groups[wanted];
    if (!group && !names.includes(wanted)) {
      throw new Failure(`There is no ${kind} "${wanted}". There are: ${names.join(', ') || 'none yet'}.`);
    }

    const urls = await startThrowAwayServers(children, { isDurable });
    const chosen = group ? names.filter(group) : [wanted];
    const more = await prepare(children, chosen);
    let worst = 0;
    for (const name of chosen) {
      const file = inRoot(folder, `${name}${suffix}`);
      const env = { ...process.env, ...urls, ...more };
      const { code } = await children.run(name, process.execPath, [file, ...rest], {
        cwd: root,
        env,
        stdio: 'inherit',
      });
      worst = Math.max(worst, code);
    }
    return worst;
  });
}

function programsIn(folder, suffix) {
  if (!existsSync(inRoot(folder))) return [];
  const files = readdirSync(inRoot(folder)).filter((name) => name.endsWith(suffix));
  return files.map((name) => name.slice(0, -suffix.length)).sort();
}
