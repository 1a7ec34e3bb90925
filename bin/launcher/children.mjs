import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import path from 'node:path';
import { endAtOnce, endGroupOf, endInOrder } from './ending.mjs';
import { Failure } from './failure.mjs';
import { writeAtomically } from './files.mjs';
import { bornAt } from './process-identity.mjs';
import { until } from './waiting.mjs';

const REAP_MS = 1_000; // until Node, too, has noticed that a process ended

/** Lower ends earlier: nobody loses a server while still working with it. */
export const EndOrder = { app: 0, nats: 1, redis: 2, postgres: 3 };

/**
 * Every process this launcher started, and nothing else. Each leads its own process group, so that Ctrl-C
 * in a terminal reaches the launcher alone and the launcher decides the order.
 */
export class Children {
  #running = new Map();
  #discards = new Set();
  #keeper = null;
  #recordFile = null;
  #isEnding = false;
  #onDeath;

  constructor(onDeath) {
    this.#onDeath = onDeath;
  }

  /** From now on the list of children is also on disk, for the launcher that comes after a crash. */
  recordIn(file) {
    this.#recordFile = file;
  }

  /** A process that has to stay: its death ends the run. */
  start(name, file, args, { log, ...options }) {
    mkdirSync(path.dirname(log), { recursive: true });
    const fd = openSync(log, 'w');
    const child = this.#spawn(name, file, args, { ...options, stdio: ['ignore', fd, fd] });
    closeSync(fd);
    child.log = log;
    child.ended.then(() => {
      if (!this.#isEnding) this.#onDeath(child);
    });
    return child;
  }

  /** A process that does its work and ends: `{ code, output }`. With stdio 'inherit' the output is the terminal's. */
  async run(name, file, args, { input = '', ...options } = {}) {
    const child = this.#spawn(name, file, args, { stdio: 'pipe', ...options });
    child.process.stdin?.end(input);
    let output = '';
    for (const stream of [child.process.stdout, child.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => (output += text));
    }
    const { code } = await child.ended;
    return { code: code ?? 1, output };
  }

  /** A file or folder that must not survive the run, however it ends. Answers how to discard it before. */
  discardAtEnd(fileOrFolder) {
    this.#discards.add(fileOrFolder);
    this.#tellKeeper({ discard: fileOrFolder });
    return () => {
      rmSync(fileOrFolder, { recursive: true, force: true });
      this.#discards.delete(fileOrFolder);
      this.#tellKeeper({ discarded: fileOrFolder });
    };
  }

  async endAll({ atOnce = false } = {}) {
    this.#isEnding = true;
    const notes = [...this.#running.values()].map((child) => child.note);
    await (atOnce ? endAtOnce(notes) : endInOrder(notes));
    await until(() => this.#running.size === 0, { withinMs: REAP_MS });
    for (const discard of this.#discards) rmSync(discard, { recursive: true, force: true });
    this.#tellKeeper({ goodbye: true });
    this.#keeper?.stdin.end();
  }

  #spawn(name, file, args, options) {
    if (this.#isEnding) throw new Failure(`${name} is not started any more: the run is ending`);
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
    child.note = { name, pid, born: bornAt(pid), endOrder, endSignal, forceSignal, graceMs };
    this.#note(child);
    process.once('exit', () => this.#forget(child));
    return child;
  }

  #note(child) {
    this.#running.set(child.pid, child);
    this.#tellKeeper({ started: child.note });
    this.#record();
  }

  #forget(child) {
    endGroupOf(child.pid);
    this.#running.delete(child.pid);
    this.#tellKeeper({ ended: child.pid });
    this.#record();
  }

  #record() {
    if (!this.#recordFile) return;
    const keeper = this.#keeper && { name: 'keeper', pid: this.#keeper.pid, born: bornAt(this.#keeper.pid) };
    const children = [...this.#running.values()].map((child) => child.note);
    writeAtomically(this.#recordFile, JSON.stringify({ keeper, children }));
  }

  #startKeeper() {
    const keeper = spawn(process.execPath, [path.join(import.meta.dirname, 'keeper.mjs')], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    keeper.unref();
    keeper.stdin.unref?.();
    keeper.stdin.on('error', () => {}); // a killed keeper is no reason to stop
    for (const discard of this.#discards) keeper.stdin.write(`${JSON.stringify({ discard })}\n`);
    return keeper;
  }

  #tellKeeper(message) {
    this.#keeper?.stdin.write(`${JSON.stringify(message)}\n`);
  }
}
