// Checks whether a recorded process still runs, and ends it.
// A record is { pid, born, endOrder, endSignal, forceSignal, graceMs }; children.mjs makes it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const KILLED_MS = 6_000; // the longest wait for a process after SIGKILL

/**
 * The start time of the process with this pid. Null if there is no such process or if it is a zombie.
 * The system may reuse a pid, but not a pid together with a start time. So pid and start time identify our process.
 */
export function bornAt(pid) {
  return process.platform === 'linux' ? bornAtFromProc(pid) : bornAtFromPs(pid);
}

/** True if the recorded process itself still runs. */
export const isAlive = ({ pid, born }) => born !== null && bornAt(pid) === born;

function bornAtFromProc(pid) {
  let stat;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The format is "pid (name) state …". The name may contain spaces and brackets, so the fields are counted after the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  if (state === 'Z' || state === 'X') return null;
  return `${bootId()}:${fields[19]}`;
}

let boot;
function bootId() {
  boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
  return boot;
}

function bornAtFromPs(pid) {
  try {
    const [state, ...started] = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split(/\s+/);
    return state.startsWith('Z') ? null : started.join(' ');
  } catch {
    return null;
  }
}

/**
 * Ends recorded processes, one `endOrder` after the other. Each gets `endSignal` and, if it still runs after `graceMs`, SIGKILL.
 * Another process that has taken over a recorded pid gets no signal.
 */
export async function endInOrder(processes) {
  const orders = [...new Set(processes.map(({ endOrder }) => endOrder))].sort((a, b) => a - b);
  for (const order of orders) {
    await Promise.all(processes.filter(({ endOrder }) => endOrder === order).map(end));
  }
}

/** Ends recorded processes all at once: sends `forceSignal`, and SIGKILL after 6 s. */
export async function endAtOnce(processes) {
  await Promise.all(processes.map((one) => end({ ...one, endSignal: one.forceSignal, graceMs: KILLED_MS })));
}

async function end(one) {
  if (!isAlive(one)) return;
  signal(one.pid, one.endSignal);
  if (!(await hasEnded(one, one.graceMs))) {
    signal(one.pid, 'SIGKILL');
    await hasEnded(one, KILLED_MS);
  }
  killGroupOf(one.pid);
}

const hasEnded = (one, withinMs) => until(() => !isAlive(one), { withinMs });

/** Kills the remaining processes in the group that the process with this pid leads. Each child leads a group of its own. */
export const killGroupOf = (pid) => signal(-pid, 'SIGKILL');

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: the process has ended by itself. EPERM: the remaining members of the group belong to another user.
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error;
  }
}

/** Calls `check` every `everyMs` until its result is truthy, and returns that result; null after `withinMs`. */
export async function until(check, { withinMs, everyMs = 25 }) {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const result = await check();
    if (result) return result;
    if (performance.now() >= deadline) return null;
    await pause(everyMs);
  }
}
