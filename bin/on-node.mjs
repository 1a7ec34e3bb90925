// node bin/on-node.mjs MAJOR FILE [arguments]: runs a script with the newest release of another Node, which npm installs below .cache/.
import './launcher/node-version.mjs';
import path from 'node:path';
import { root } from './launcher/files.mjs';
import { nodeRelease } from './launcher/node-release.mjs';
import { run } from './launcher/run.mjs';
import { Failure } from './launcher/terminal.mjs';

await run(async ({ args: [major, ...script], children }) => {
  if (!/^\d+$/.test(major ?? '') || script.length === 0)
    throw new Failure('Usage: node bin/on-node.mjs MAJOR FILE [arguments], such as: 24 bin/test.mjs');
  const node = await nodeRelease(major, children);
  // npm, and each program that asks for `node`, gets the same release.
  const PATH = `${path.dirname(node)}${path.delimiter}${process.env.PATH}`;
  const env = { ...process.env, PATH };
  const { code } = await children.run(`node ${major}`, node, script, { cwd: root, env, stdio: 'inherit' });
  return code;
});
