import { delimiter } from 'node:path';
import { it } from '@jest/globals';

interface Programs {
  find(name: string): { readonly file: string } | null;
}

const launcher = new URL('../../bin/launcher/programs.mjs', import.meta.url);
const installed = ((await import(launcher.href)) as Programs).find('kubectl')?.file;

/** The paths of all kubectls that `npm test` has found; without it, that of an installed one. Each contains its own version of kustomize. */
export const kubectls = (process.env.KUBECTL_PATHS ?? installed ?? '').split(delimiter).filter(Boolean);

export const kubectl = kubectls[0] ?? '';

/** `it` for a test that builds with kubectl; skipped on a machine without it. */
export const withKubectl = kubectl ? it : it.skip;
