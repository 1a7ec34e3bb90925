// A base image from this machine, for a machine that reaches no registry: Node, npm, a shell and a few programs, and the libraries they need.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Failure } from './terminal.mjs';

const PROGRAMS = ['sh', 'cat', 'chmod', 'cp', 'env', 'id', 'ls', 'mkdir', 'mv', 'rm', 'sleep', 'touch'];
// Packages with native code, such as rolldown, also need the other libraries of glibc.
const GLIBC = ['librt.so.1', 'libdl.so.2', 'libpthread.so.0', 'libresolv.so.2', 'libutil.so.1'];
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const USERS = 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n';
const GROUPS = 'root:x:0:\nnode:x:1000:\n';
const NPM = '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n';

/** Fills the folder with the files of the base image. Its layout is that of the official image of Node: node and npm in /usr/local. */
export function fillBase(folder, node) {
  rmSync(folder, { recursive: true, force: true });
  const into = (...parts) => {
    const file = path.join(folder, ...parts);
    mkdirSync(path.dirname(file), { recursive: true });
    return file;
  };
  const copy = (from, to = from) => cpSync(from, into(to), { dereference: true, recursive: true });

  const programs = PROGRAMS.map((name) => ({ from: fileOf(name), to: `/bin/${name}` }));
  for (const { from, to } of [...programs, { from: node, to: '/usr/local/bin/node' }]) copy(from, to);
  for (const library of new Set([node, ...programs.map(({ from }) => from)].flatMap(librariesOf)))
    copy(library);
  copy(npmFolder(), '/usr/local/lib/node_modules/npm');
  writeFileSync(into('usr/local/bin/npm'), NPM, { mode: 0o755 });
  writeFileSync(into('etc/passwd'), USERS);
  writeFileSync(into('etc/group'), GROUPS);
  if (existsSync(CERTIFICATES)) copy(CERTIFICATES);
  for (const name of ['tmp', 'root', 'home/node', 'proc', 'dev', 'sys', 'run'])
    mkdirSync(path.join(folder, name), { recursive: true });
  chmodSync(path.join(folder, 'tmp'), 0o1777);
}

function fileOf(name) {
  const file = [`/bin/${name}`, `/usr/bin/${name}`].find((candidate) => existsSync(candidate));
  if (!file) throw new Failure(`The base image needs the program ${name}, which is not on this machine.`);
  return file;
}

/** The libraries that the loader would use for this program, and the rest of glibc. */
function librariesOf(file) {
  const libraries = loadedBy(file);
  const glibc = path.dirname(libraries.find((library) => path.basename(library) === 'libc.so.6') ?? '/');
  return [
    ...libraries,
    ...GLIBC.map((name) => path.join(glibc, name)).filter((library) => existsSync(library)),
  ];
}

/** `ldd` prints `name => /path (address)` for a library, and `/path (address)` for the loader. */
function loadedBy(file) {
  const text = execFileSync('ldd', [file], { encoding: 'utf8' });
  return [...text.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map(([, library]) => library);
}

function npmFolder() {
  const folder = path.join(execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim(), 'npm');
  if (!existsSync(folder)) throw new Failure(`The base image needs npm, which is not in ${folder}.`);
  return folder;
}
