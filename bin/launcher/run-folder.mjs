// The folder of a run. One launcher at a time may use the folder. Each run first ends the processes that a killed run has left running.
import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { holderOf, localFolder, readJson, releaseLock, takeLock } from './files.mjs';
import { removeDatabaseFolder } from './postgres.mjs';
import { bornAt, endInOrder, isAlive, until } from './processes.mjs';

const KEEPER_MS = 60_000;
const PRIVATE = 0o700;
const lockIn = (folder) => path.join(folder, 'launcher.lock');
const childrenIn = (folder) => path.join(folder, 'children.json');

/** The launcher that runs in this folder now, or null. */
export const runnerOf = (folder) => holderOf(lockIn(folder));

/**
 * Takes the folder for this run and returns null. If another launcher runs in the folder, this returns that launcher.
 * After taking the folder, it ends the processes that a killed run has left running.
 */
export async function claim(folder, children) {
  makePrivate(folder);
  const holder = takeLock(lockIn(folder));
  if (holder) return holder;
  await endLeftoverProcesses(folder);
  children.recordIn(childrenIn(folder));
  process.once('exit', () => releaseLock(lockIn(folder)));
  return null;
}

/** Deletes the folders of killed runs. Then makes a folder for this run, which is deleted when this run ends. */
export async function claimThrowAway(children) {
  for (const leftover of throwAways().filter((folder) => !isInUse(folder))) await removeRunFolder(leftover);
  const folder = path.join(localFolder, `test-${process.pid}`);
  await claim(folder, children);
  children.discardAtEnd(folder);
  return folder;
}

/** The folders of tests and benchmarks, whether they are running or were killed. */
export function throwAways() {
  makePrivate(localFolder);
  const names = readdirSync(localFolder).filter((name) => /^test-\d+$/.test(name));
  return names.map((name) => path.join(localFolder, name));
}

// The pid in the folder's name counts as well, because the folder has no lock just after it is made and just before it is removed.
const isInUse = (folder) => runnerOf(folder) || bornAt(Number(folder.split('-').at(-1))) !== null;

/** Ends the processes that a killed run has left running in this folder. Then deletes the run's folder and database. */
export async function removeRunFolder(folder) {
  await endLeftoverProcesses(folder);
  removeDatabaseFolder(folder);
  rmSync(folder, { recursive: true, force: true });
}

// An existing folder keeps its mode, because it may contain other files of the user. Exception: .local becomes private, because earlier
// versions made it readable for all.
function makePrivate(folder) {
  mkdirSync(folder, { recursive: true, mode: PRIVATE });
  if (folder === localFolder) chmodSync(folder, PRIVATE);
}

async function endLeftoverProcesses(folder) {
  const { keeper, children = [] } = readJson(childrenIn(folder)) ?? {};
  // If the keeper of the killed launcher still runs, it ends the processes itself, in order and with their grace periods.
  if (keeper) await until(() => !isAlive(keeper), { withinMs: KEEPER_MS });
  await endInOrder(children);
}
