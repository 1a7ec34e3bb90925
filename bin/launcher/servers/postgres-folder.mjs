import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, lstatSync, mkdirSync, readlinkSync, rmSync, rmdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';

const ELSEWHERE = '/var/lib/pacekeeper';
const nearFolder = (runFolder) => path.join(runFolder, 'postgres');

/**
 * Where this run's database lives: inside the run's folder, unless `owner`, the user the server has to run as,
 * cannot get there (a checkout below /root or below a private temporary folder). Then it lives in a folder of its
 * own, linked from the run's.
 */
export function databaseFolder(runFolder, owner) {
  const near = nearFolder(runFolder);
  if (!owner) return made(near);
  const folder = canReach(runFolder, owner) ? made(near) : linkedElsewhere(near);
  chownSync(folder, owner.uid, owner.gid);
  return folder;
}

export function removeDatabaseFolder(runFolder) {
  const target = linkTarget(nearFolder(runFolder));
  if (target && path.dirname(target) === ELSEWHERE) rmSync(target, { recursive: true, force: true });
  try {
    rmdirSync(ELSEWHERE);
  } catch {
    // absent, or other checkouts have theirs there
  }
}

function linkedElsewhere(near) {
  const far = path.join(ELSEWHERE, createHash('sha256').update(near).digest('hex').slice(0, 16));
  if (linkTarget(near) === far) return made(far);
  if (isFolder(near)) {
    throw new Failure(
      `The database user can no longer reach ${near}: open the folders above it, or \`npm run reset\`.`,
    );
  }
  rmSync(near, { force: true });
  rmSync(far, { recursive: true, force: true }); // nobody links to it: left by a checkout that is gone
  made(far);
  symlinkSync(far, near);
  return far;
}

function canReach(folder, { uid, gid }) {
  return spawnSync('test', ['-x', folder], { uid, gid, cwd: '/' }).status === 0;
}

function made(folder) {
  mkdirSync(folder, { recursive: true });
  return folder;
}

function linkTarget(file) {
  try {
    return readlinkSync(file);
  } catch {
    return null;
  }
}

const isFolder = (file) => lstatSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
