import { existsSync, writeFileSync } from 'node:fs';
import { find, programs } from './programs.mjs';
import { step } from './progress.mjs';

const POLICY = '/usr/sbin/policy-rc.d';
const LOCK_WAIT = 'DPkg::Lock::Timeout=300'; // another installation may be running: wait for it
const GRACE_MS = 300_000; // apt finishes a running dpkg before it obeys; half an installation is worse than waiting

export const canInstall = () => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

/** Installs what these programs need; answers null, or the last words of apt. */
export async function install(names, children) {
  const packages = names.map((name) => programs[name].debianPackage);
  const allowServices = keepServicesDown(children);
  return step(`installing ${packages.join(', ')} with apt-get`, async () => {
    const apt = (...args) =>
      children.run('apt-get', '/usr/bin/apt-get', ['-o', LOCK_WAIT, '-q', '-y', ...args], {
        // RUNLEVEL=1: a package that asks must not start its service either.
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
        endSignal: 'SIGINT',
        graceMs: GRACE_MS,
      });
    // An update that failed may still leave lists good enough to install from.
    const update = await apt('update');
    const installed = await apt('install', '--no-install-recommends', ...packages);
    allowServices();
    if (installed.code === 0 && names.every((name) => find(name))) return null;
    return lastWords(update.code === 0 ? installed.output : update.output + installed.output);
  });
}

// The packages bring services of their own; Pacekeeper starts private instances and wants none of those.
function keepServicesDown(children) {
  if (existsSync(POLICY)) return () => {};
  const discard = children.discardAtEnd(POLICY);
  writeFileSync(
    POLICY,
    '#!/bin/sh\n# Written by Pacekeeper during an installation, removed afterwards.\nexit 101\n',
    {
      mode: 0o755,
    },
  );
  return discard;
}

const lastWords = (output) => output.trimEnd().split('\n').slice(-8).join('\n');
