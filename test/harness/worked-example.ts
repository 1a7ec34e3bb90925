import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

// A paragraph that begins with a file's name, and the block that follows it.
const BLOCK =
  /(?<=\n\n)`(?<file>[\w.-]+\/[\w./-]+)`(?:[^\n]*\n)(?:[^\n]+\n)*\n```(?<language>\w+)\n(?<text>[^]*?)^```$/gm;
const BUILT_FROM = ['apps', 'libs', 'bench', 'examples', 'test', 'migrations', 'bin', 'docs', 'dist'];
const SINGLE_FILES = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  '.env.example',
];
const BUILD_CACHE = ['build.json', 'build.tsbuildinfo', 'bundle.json', 'console.json'].map(
  (file) => `.cache/${file}`,
);

/** A copy of the repository in which a test does what a page of the docs says. */
export class WorkedExample {
  private constructor(readonly root: string) {}

  static copy(): WorkedExample {
    const root = mkdtempSync(join(tmpdir(), 'pacekeeper-example-'));
    // With times: the copy of a finished build is up to date, and only the changes are compiled.
    for (const name of [...BUILT_FROM, ...SINGLE_FILES, ...BUILD_CACHE])
      cpSync(resolve(name), join(root, name), { recursive: true, preserveTimestamps: true });
    symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
    return new WorkedExample(root);
  }

  /** Does each block of the page that follows a file's name: writes the file, or changes it if the block is a `diff`. Returns the files' names. */
  follow(page: string): string[] {
    const blocks = [...readFileSync(resolve(page), 'utf8').matchAll(BLOCK)];
    return blocks.map(({ groups }) => {
      const { file = '', language, text = '' } = groups ?? {};
      if (language === 'diff') this.change(file, text, page);
      else this.write(file, text);
      return file;
    });
  }

  /** Runs a program of the repository in the copy. Throws with its output if it fails. */
  run(...args: string[]): string {
    return this.runWith({}, ...args);
  }

  runWith(env: Readonly<Record<string, string>>, ...args: string[]): string {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: this.root,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}:\n${stdout}\n${stderr}`);
    return stdout;
  }

  read(file: string): string {
    return readFileSync(join(this.root, file), 'utf8');
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  private write(file: string, text: string): void {
    mkdirSync(dirname(join(this.root, file)), { recursive: true });
    writeFileSync(join(this.root, file), text);
  }

  private change(file: string, diff: string, page: string): void {
    const lines = diff.trimEnd().split('\n');
    const side = (mark: string) =>
      lines.filter((line) => line[0] === ' ' || line[0] === mark).map((line) => `${line.slice(1)}\n`);
    const [before, after] = [side('-').join(''), side('+').join('')];
    const text = this.read(file);
    if (text.split(before).length !== 2)
      throw new Error(
        `${page} changes lines that are not once in ${file}, so the page is out of date:\n${before}`,
      );
    this.write(
      file,
      text.replace(before, () => after),
    );
  }
}
