import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeAtomically } from './files.mjs';
import { bornAt, endAtOnce, endInOrder, killGroupOf, until } from './processes.mjs';
import { Failure } from './terminal.mjs';

const PRIVATE_UMASK = 0o077;
const REAP_MS = 1_000; // the longest time until Node emits the exit of a process that has ended

/** A lower value ends earlier. An app ends before the servers that it uses. */
export const EndOrder = { app: 0, nats: 1, redis: 2, postgres: 3 };

/**
 * Starts processes and ends all of them, in order. Each child leads its own process group. So Ctrl-C in a terminal reaches only the
 * launcher, and the launcher decides the order.
 * If the launcher is killed, the keeper (keeper.mjs) ends the children. If the keeper is killed too, the children run on until the
 * next launcher in this folder reads the list of `recordIn` and ends them.
 */
export class Children {
  #running = new Map();
  #discards = new Set();
  #keeper = null;
  #recordFile = null;
  #isEnding = false;
  #onExit;

  /** `onExit` is called if a child of `start` ends before `endAll`. */
  constructor(onExit) {
    this.#onExit = onExit;
  }

  /** Keeps the list of running children in this file. If this launcher is killed, the next launcher reads the list. */
  recordIn(file) {
    this.#recordFile = file;
  }

  get isEnding() {
    return this.#isEnding;
  }

  get areRunning() {
    return this.#running.size > 0;
  }

  /** Starts a process that runs until `endAll`. If it ends earlier, this calls the child's `onExit`, or else the constructor's. */
  start(name, file, args, { log, isLogKept = false, ...options }) {
    // Only this user may read the files that the process writes, because data and logs contain athletes' data and secrets.
    const before = process.umask(PRIVATE_UMASK);
    mkdirSync(path.dirname(log), { recursive: true });
    const fd = openSync(log, isLogKept ? 'a' : 'w');
    const child = this.#spawn(name, file, args, { ...options, stdio: ['ignore', fd, fd] });
    process.umask(before);
    closeSync(fd);
    child.log = log;
    child.ended.then(() => {
      if (!this.#isEnding) (child.onExit ?? this.#onExit)(child);
    });
    return child;
  }

  /** Runs a process to its end and returns `{ code, output }`. With stdio 'inherit' the output goes to the terminal instead. */
  async run(name, file, args, { input = '', ...options } = {}) {
    const child = this.#spawn(name, file, args, { stdio: 'pipe', ...options });
    // A process that ends without reading stdin breaks the pipe. The exit code, not this error, tells whether the process failed.
    child.process.stdin?.on('error', () => {}).end(input);
    let output = '';
    for (const stream of [child.process.stdout, child.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => (output += text));
    }
    const { code } = await child.ended;
    return { code: code ?? 1, output };
  }

  /** Deletes a file or folder when the run ends, even if the launcher is killed. Returns a function that deletes it at once. */
  discardAtEnd(fileOrFolder) {
    this.#discards.add(fileOrFolder);
    this.#tellKeeper({ discard: fileOrFolder });
    return () => {
      rmSync(fileOrFolder, { recursive: true, force: true });
      this.#discards.delete(fileOrFolder);
      this.#tellKeeper({ discarded: fileOrFolder });
    };
  }

  /** Ends all children, then deletes the files and folders of `discardAtEnd`. No child can be started afterwards. */
  async endAll({ atOnce = false } = {}) {
    this.#isEnding = true;
    const records = [...this.#running.values()].map((child) => child.record);
    await (atOnce ? endAtOnce(records) : endInOrder(records));
    await until(() => this.#running.size === 0, { withinMs: REAP_MS });
    for (const discard of this.#discards) rmSync(discard, { recursive: true, force: true });
    this.#tellKeeper({ goodbye: true });
    this.#keeper?.stdin.end();
  }

  #spawn(name, file, args, options) {
    if (this.#isEnding) throw new Failure(`${name} was not started, because the run is ending.`);
    this.#keeper ??= this.#startKeeper();
    const {
      endOrder = EndOrder.app,
      endSignal = 'SIGTERM',
      forceSignal = 'SIGKILL',
      graceMs = 25_000,
      ...rest
    } = options;
    const process = spawn(file, args, { ...rest, detached: true });
    const { pid } = process;
    const child = { name, pid, process };
    child.ended = new Promise((resolve, reject) => {
      process.once('error', (error) => reject(new Failure(`${name} cannot be started: ${error.message}`)));
      process.once('close', (code) => resolve({ code }));
    });
    if (!pid) return child;
    child.record = { name, pid, born: bornAt(pid), endOrder, endSignal, forceSignal, graceMs };
    this.#add(child);
    process.once('exit', () => this.#remove(child));
    return child;
  }

  #add(child) {
    this.#running.set(child.pid, child);
    this.#tellKeeper({ started: child.record });
    this.#writeRecord();
  }

  #remove(child) {
    killGroupOf(child.pid);
    this.#running.delete(child.pid);
    this.#tellKeeper({ ended: child.pid });
    this.#writeRecord();
  }

  #writeRecord() {
    if (!this.#recordFile) return;
    const keeper = this.#keeper && { name: 'keeper', pid: this.#keeper.pid, born: bornAt(this.#keeper.pid) };
    const children = [...this.#running.values()].map((child) => child.record);
    writeAtomically(this.#recordFile, JSON.stringify({ keeper, children }), { mode: 0o600 });
  }

  #startKeeper() {
    const keeper = spawn(process.execPath, [path.join(import.meta.dirname, 'keeper.mjs')], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    keeper.unref();
    keeper.stdin.unref?.();
    keeper.stdin.on('error', () => {}); // the run goes on if the keeper is killed
    for (const discard of this.#discards) keeper.stdin.write(`${JSON.stringify({ discard })}\n`);
    return keeper;
  }

  #tellKeeper(message) {
    this.#keeper?.stdin.write(`${JSON.stringify(message)}\n`);
  }
}
