import { setTimeout as pause } from 'node:timers/promises';
import { type Gauge, type Registry } from 'prom-client';

// The edge answers 503 after 4.25 s. A statement on a frozen Postgres fails only after 30 s in a worker.
const READ_MS = 3_000;

const bounded = new WeakSet<object>();

/**
 * All metrics in Prometheus' text format. A metric that is read from a server is left out if the server does not answer within 3 s, so that a
 * frozen server hides its own metrics only.
 */
export function scrape(register: Registry, readMs = READ_MS): Promise<string> {
  // Modules make their metrics at any time, so the newest are bounded here.
  for (const metric of register.getMetricsAsArray() as unknown as Gauge[]) bound(metric, readMs);
  return register.metrics();
}

function bound(metric: Gauge & { collect?: () => void | Promise<void> }, readMs: number): void {
  const { collect } = metric;
  if (!collect || bounded.has(metric)) return;
  bounded.add(metric);
  metric.collect = async () => {
    const read = collect.call(metric);
    if (read instanceof Promise && !(await isDoneWithin(read, readMs))) leaveOut(metric);
  };
}

async function isDoneWithin(read: Promise<void>, ms: number): Promise<boolean> {
  const over = new AbortController();
  const late = pause(ms, false, { signal: over.signal }).catch(() => false);
  try {
    return await Promise.race([read.then(() => true), late]);
  } finally {
    over.abort();
  }
}

/** Only gauges are read at a scrape. */
function leaveOut(gauge: Gauge): void {
  gauge.reset();
  // A gauge without labels is 0 after `reset`.
  gauge.remove({});
}
