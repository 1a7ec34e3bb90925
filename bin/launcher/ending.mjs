import { isAlive } from './process-identity.mjs';
import { until } from './waiting.mjs';

const INSIST_MS = 6_000;

/**
 * Ends processes (as noted by `note` in children.mjs) in their order: asks, waits out the grace, insists.
 * Whoever is not the process we noted any more is left alone.
 */
export async function endInOrder(processes) {
  const orders = [...new Set(processes.map(({ endOrder }) => endOrder))].sort((a, b) => a - b);
  for (const order of orders) {
    await Promise.all(processes.filter(({ endOrder }) => endOrder === order).map(end));
  }
}

/** The impatient version: all at once, without grace. */
export async function endAtOnce(processes) {
  await Promise.all(processes.map((one) => end({ ...one, endSignal: one.forceSignal, graceMs: INSIST_MS })));
}

async function end(one) {
  if (!isAlive(one)) return;
  signal(one.pid, one.endSignal);
  if (!(await isGone(one, one.graceMs))) {
    signal(one.pid, 'SIGKILL');
    await isGone(one, INSIST_MS);
  }
  endGroupOf(one.pid);
}

const isGone = (one, withinMs) => until(() => !isAlive(one), { withinMs });

/** Every child leads a process group of its own; what it left behind there goes with it. */
export const endGroupOf = (pid) => signal(-pid, 'SIGKILL');

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: gone by itself. EPERM: a group whose last members are not ours to end.
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error;
  }
}
