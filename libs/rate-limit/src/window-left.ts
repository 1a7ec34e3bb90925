import { type Outlook } from './eta.js';
import { ceilingAt } from './shares.js';
import { type Window, windowsAt } from './windows.js';

/** How many calls a class may still make before the next boundary, and how many ms it has for them. */
export function windowLeft(now: Date, outlook: Outlook): { readonly calls: number; readonly ms: number } {
  const { policy, gauges, scale } = outlook;
  const nowMs = now.getTime();
  const { windows, untilMs } = windowsAt(policy.counters, nowMs, scale);
  const rooms = policy.counters.map((counter, index) => {
    const { used = 0, limit = 0 } = gauges[index] ?? {};
    return ceilingAt(counter, limit, outlook.class, windows[index] as Window, nowMs, scale) - used;
  });
  return { calls: Math.max(0, Math.min(...rooms)), ms: Math.max(0, untilMs - nowMs) };
}
