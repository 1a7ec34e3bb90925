import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const ROOT = new URL('../..', import.meta.url).pathname;

function violatedRules(folder: string): string[] {
  const program = `${ROOT}node_modules/dependency-cruiser/bin/dependency-cruise.mjs`;
  const options = ['--config', `${ROOT}.dependency-cruiser.cjs`, '--output-type', 'json', 'apps', 'libs'];
  const { stdout } = spawnSync(process.execPath, [program, ...options], { cwd: folder, encoding: 'utf8' });
  const { summary } = JSON.parse(stdout) as { summary: { violations: Array<{ rule: { name: string } }> } };
  return [...new Set(summary.violations.map(({ rule }) => rule.name))].sort();
}

describe('the boundaries', () => {
  it('each boundary rule reports a violation in test/boundaries/canary', () => {
    expect(violatedRules(`${ROOT}test/boundaries/canary`)).toEqual([
      'apps-are-apart',
      'console-is-apart',
      'console-is-not-imported',
      'front-door-only',
      'known-libs-only',
      'no-circular',
      'no-unresolvable',
      'only-the-registry-knows-vendors',
      'platform-imports-lower-levels-only',
      'simulator-is-independent',
      'training-world-is-independent',
      'training-world-is-no-product-code',
      'vendors-are-apart',
    ]);
  });
});

interface NestCli {
  readonly projects: Record<string, unknown>;
}
interface TsConfig {
  readonly compilerOptions: { readonly paths: Record<string, [string]> };
}
interface Package {
  readonly imports: Record<string, string>;
}

describe('the workspace', () => {
  const read = <T>(file: string) => JSON.parse(readFileSync(`${ROOT}${file}`, 'utf8')) as T;
  const folders = [...readdirSync(`${ROOT}apps`), ...readdirSync(`${ROOT}libs`)].sort();

  it('nest-cli.json lists every app and lib', () => {
    expect(Object.keys(read<NestCli>('nest-cli.json').projects).sort()).toEqual(folders);
  });

  it('tsconfig.json and package.json give every lib the same name', () => {
    const compiled = read<TsConfig>('tsconfig.json').compilerOptions.paths;
    const run = Object.entries(read<Package>('package.json').imports);
    const toSource = (path: string) => path.replace('./dist/', './').replace(/\.js$/, '.ts');
    expect(Object.fromEntries(run.map(([name, path]) => [name, [toSource(path)]]))).toEqual(compiled);
    for (const lib of readdirSync(`${ROOT}libs`))
      expect(compiled[`#${lib}`]).toEqual([`./libs/${lib}/src/index.ts`]);
  });
});
