import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When the process with this pid was born, or null when nobody (or only a zombie) lives there.
 * Pids are recycled; pid and birth together are not, so we never take a stranger for one of ours.
 */
export function bornAt(pid) {
  return process.platform === 'linux' ? bornAtFromProc(pid) : bornAtFromPs(pid);
}

/** Whether the very process we once noted is still running. */
export const isAlive = ({ pid, born }) => born !== null && bornAt(pid) === born;

function bornAtFromProc(pid) {
  let stat;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // "pid (name) state …": the name may hold spaces and brackets, so count from the last bracket.
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
