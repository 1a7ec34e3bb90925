// The project's folders, and files that several launchers may use at the same time: atomic writes and locks.
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bornAt, isAlive, until } from './processes.mjs';

export const root = path.resolve(import.meta.dirname, '../..');
export const localFolder = path.join(root, '.local');
export const cacheFolder = path.join(root, '.cache');
export const inRoot = (...parts) => path.join(root, ...parts);

/** True in the container image. The image has neither sources nor lockfile, so there is nothing to install or build. */
export const isReleased = !existsSync(inRoot('package-lock.json'));

/** Replaces a file. A reader sees the old or the new content, never a part. A power cut may lose the file, because it is not synced. */
export function writeAtomically(file, content, { mode = 0o644 } = {}) {
  mkdirSync(path.dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}.draft`;
  writeFileSync(draft, content, { mode });
  renameSync(draft, file);
}

/** The parsed content, or null when the file is missing or is not JSON. */
export function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** The last lines of a log, or '' when it cannot be read. */
export function lastLines(file, count = 20) {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
  } catch {
    return '';
  }
}

/** The running process that holds this lock, or null. The lock of a process that has ended counts as free. */
export function holderOf(file) {
  const holder = readJson(file);
  return holder && isAlive(holder) ? holder : null;
}

/** Takes the lock and returns null. If another process has the lock, this returns that process at once. */
export function takeLock(file) {
  mkdirSync(path.dirname(file), { recursive: true });
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, born: bornAt(process.pid) }), { mode: 0o600 });
  try {
    while (!link(mine, file)) {
      const holder = holderOf(file);
      if (holder) return holder;
      removeStaleLock(file);
    }
    return null;
  } finally {
    rmSync(mine, { force: true });
  }
}

export function releaseLock(file) {
  if (readJson(file)?.pid === process.pid) rmSync(file, { force: true });
}

/** Runs `work` with the lock. Waits without limit while another process holds it. */
export async function whileHolding(file, work) {
  await until(() => takeLock(file) === null, { withinMs: Infinity, everyMs: 100 });
  try {
    return await work();
  } finally {
    releaseLock(file);
  }
}

// A hard link appears with its whole content, so no process reads a half-written lock.
function link(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

// If several processes find the same stale lock, only one of them can rename the lock.
function removeStaleLock(file) {
  const aside = `${file}.${process.pid}.stale`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  rmSync(aside, { force: true });
}
