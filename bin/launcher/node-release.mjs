// Another Node than the machine's, for tests and images: a package of npm that contains the binary of one release for one processor.
import path from 'node:path';
import { cachedPackage } from './cached-package.mjs';

/** Installs the newest release of this major version below .cache/ and returns the path of its binary. */
export async function nodeRelease(major, children) {
  const name = `node-${process.platform}-${process.arch}`;
  const wanted = { folder: `node-${major}`, name, version: major, title: `Node ${major}` };
  return path.join(await cachedPackage(wanted, children), 'node_modules', name, 'bin', 'node');
}
