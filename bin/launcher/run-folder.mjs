import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { endInOrder } from './ending.mjs';
import { readJson } from './files.mjs';
import { holderOf, releaseLock, takeLock } from './lock.mjs';
import { localFolder } from './paths.mjs';
import { bornAt, isAlive } from './process-identity.mjs';
import { removeDatabaseFolder } from './servers/postgres-folder.mjs';
import { until } from './waiting.mjs';

const KEEPER_MS = 60_000;
const lockIn = (folder) => path.join(folder, 'launcher.lock');
const childrenIn = (folder) => path.join(folder, 'children.json');

/** Whoever runs in this folder now, or null. */
export const runnerOf = (folder) => holderOf(lockIn(folder));

/** Makes the folder this run's own; answers null, or who has it. What a killed run left there is ended first. */
export async function claim(folder, children) {
  mkdirSync(folder, { recursive: true });
  const holder = takeLock(lockIn(folder));
  if (holder) return holder;
  await endLeftoverProcesses(folder);
  children.recordIn(childrenIn(folder));
  process.once('exit', () => releaseLock(lockIn(folder)));
  return null;
}

/** A folder of servers that lives as long as this run. */
export async function claimThrowAway(children) {
  for (const leftover of throwAways().filter((folder) => !isInUse(folder))) await removeRunFolder(leftover);
  const folder = path.join(localFolder, `test-${process.pid}`);
  await claim(folder, children);
  children.discardAtEnd(folder);
  return folder;
}

/** The folders of tests and benchmarks, running or left behind. */
export function throwAways() {
  mkdirSync(localFolder, { recursive: true });
  const names = readdirSync(localFolder).filter((name) => /^test-\d+$/.test(name));
  return names.map((name) => path.join(localFolder, name));
}

// Without a lock it may be a moment before having one, or a moment before being removed.
const isInUse = (folder) => runnerOf(folder) || bornAt(Number(folder.split('-').at(-1))) !== null;

/** Removes a run's folder, its database and whatever a killed run left running there. */
export async function removeRunFolder(folder) {
  await endLeftoverProcesses(folder);
  removeDatabaseFolder(folder);
  rmSync(folder, { recursive: true, force: true });
}

async function endLeftoverProcesses(folder) {
  const { keeper, children = [] } = readJson(childrenIn(folder)) ?? {};
  // The keeper of a killed launcher ends things itself, in order and with grace.
  if (keeper) await until(() => !isAlive(keeper), { withinMs: KEEPER_MS });
  await endInOrder(children);
}
