// Runs buildah with a store of its own below .cache/, so that the machine's images stay as they are.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, root } from './files.mjs';
import { Failure } from './terminal.mjs';

export const IMAGE_FOLDER = path.join(cacheFolder, 'image');
// vfs copies the whole image for each step. It works where overlay does not, for example in a container whose root is an overlay.
const DRIVERS = ['overlay', 'vfs'];

/** Commands of buildah with the first storage driver that works here. */
export class Buildah {
  #children;
  #file;
  #driver;

  static async open(children, file) {
    mkdirSync(IMAGE_FOLDER, { recursive: true });
    for (const driver of DRIVERS) {
      const buildah = new Buildah(children, file, driver);
      if ((await buildah.#start('info')).code === 0) return buildah;
    }
    throw new Failure('buildah cannot use its store below .cache/ with overlay or vfs.');
  }

  constructor(children, file, driver) {
    this.#children = children;
    this.#file = file;
    this.#driver = driver;
  }

  /** Returns the output of the command, or fails with the end of it. */
  async run(...args) {
    const { code, output } = await this.#start(...args);
    if (code === 0) return output.trim();
    throw new Failure(`buildah ${args[0]} failed:\n${output.trimEnd().split('\n').slice(-30).join('\n')}`);
  }

  #start(...args) {
    const store = path.join(IMAGE_FOLDER, `store-${this.#driver}`);
    const options = ['--root', store, '--runroot', `${store}-run`, '--storage-driver', this.#driver];
    return this.#children.run('buildah', this.#file, ['--log-level', 'error', ...options, ...args], {
      cwd: root,
      env: { ...process.env, CONTAINERS_CONF: '/dev/null', STORAGE_DRIVER: this.#driver },
    });
  }
}

/** Debian's buildah has no policy of signatures without a package that it only recommends, and refuses to read images then. */
export function policyFile() {
  const file = path.join(IMAGE_FOLDER, 'policy.json');
  writeFileSync(file, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  return file;
}
