// Packages of npm that are not the project's own: a Node of another version, and peers that only a benchmark compares with.
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, whileHolding } from './files.mjs';
import { Failure, step } from './terminal.mjs';

/** Installs a package below .cache/`folder`, unless it is there, and returns the path of this folder. `title` names it in messages. */
export async function cachedPackage({ folder, name, version, title }, children) {
  const target = path.join(cacheFolder, folder);
  const isThere = () => existsSync(path.join(target, 'node_modules', name, 'package.json'));
  await whileHolding(`${target}.lock`, async () => {
    if (!isThere())
      await step(`installing ${title}`, () => install(target, `${name}@${version}`, title, children));
  });
  return target;
}

async function install(target, wanted, title, children) {
  mkdirSync(target, { recursive: true });
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const args = ['install', '--prefix', target, ...options, wanted];
  const { code, output } = await children.run('npm install', 'npm', args, { cwd: target });
  if (code !== 0) throw new Failure(`npm could not install ${title} from ${wanted}:\n${output.trimEnd()}`);
}
