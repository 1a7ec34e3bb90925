import { type Counter, type LabelValues } from 'prom-client';

/**
 * Makes series of a counter before anything is counted. Prometheus' `increase` does not see the first event of a series that begins with
 * it, so an alert on a counter without this misses that event. Only for labels with few known values.
 */
export function startAtZero<Label extends string>(
  counter: Pick<Counter<Label>, 'inc'>,
  series: ReadonlyArray<LabelValues<Label>>,
): void {
  for (const labels of series) counter.inc(labels, 0);
}
