import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readJson } from './files.mjs';
import { bornAt, isAlive } from './process-identity.mjs';
import { until } from './waiting.mjs';

/** The running process that holds this lock, or null. A dead holder's lock is nobody's. */
export function holderOf(file) {
  const holder = readJson(file);
  return holder && isAlive(holder) ? holder : null;
}

/** Takes the lock and answers null, or answers who holds it. */
export function takeLock(file) {
  mkdirSync(path.dirname(file), { recursive: true });
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, born: bornAt(process.pid) }));
  try {
    while (!linked(mine, file)) {
      const holder = holderOf(file);
      if (holder) return holder;
      setAside(file);
    }
    return null;
  } finally {
    rmSync(mine, { force: true });
  }
}

export function releaseLock(file) {
  if (readJson(file)?.pid === process.pid) rmSync(file, { force: true });
}

// A link appears complete or not at all: nobody can read a half-written lock.
function linked(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function setAside(file) {
  const aside = `${file}.${process.pid}.stale`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  rmSync(aside, { force: true });
}

/** Does the work while holding the lock, after waiting for whoever holds it. */
export async function whileHolding(file, work) {
  await until(() => takeLock(file) === null, { withinMs: Infinity, everyMs: 100 });
  try {
    return await work();
  } finally {
    releaseLock(file);
  }
}
