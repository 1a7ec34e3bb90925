import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface BuildInfo {
  readonly version: string;
  /** The commit of the built sources; `unknown` if the build had neither git nor `COMMIT`. */
  readonly commit: string;
}

// The build writes this file. If tests run from the sources, the file may be missing.
const RECORD = path.join('dist', 'build-info.json');

/** The running release, read once at the start. */
export const buildInfo: BuildInfo = readBuildInfo(rootAbove(import.meta.dirname));

function readBuildInfo(root: string): BuildInfo {
  const { version } = readJson(path.join(root, 'package.json')) as { version: string };
  const record = path.join(root, RECORD);
  const { commit } = existsSync(record) ? (readJson(record) as { commit?: string }) : {};
  return { version, commit: commit ?? 'unknown' };
}

// Compiled code is one folder deeper than its source, so the root is searched upwards.
function rootAbove(folder: string): string {
  if (existsSync(path.join(folder, 'package.json'))) return folder;
  return rootAbove(path.dirname(folder));
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}
