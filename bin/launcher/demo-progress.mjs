// How far the demo athlete's data is, from the answers of Pacekeeper's API.

const UNFINISHED = ['queued', 'started', 'rate_limited'];

/**
 * `activities` and `streams` have `{ done, total, eta }`; the total of the activities is null until Strava's list has been read.
 * `nights` counts the nights by the vendor whose record was chosen.
 */
export function progressOf({ imports, overview, nights, athleteId }) {
  const job = historyImport(imports);
  const counts = overview.backfill.find((one) => one.athlete_id === athleteId);
  const streams = streamsOf(counts);
  const hasImported = hasEnded(job);
  return {
    importStatus: job?.status,
    importMessage: job?.message,
    hasImported,
    activities: {
      done: job?.activities_imported ?? 0,
      total: job?.activities_total ?? null,
      eta: job?.eta ?? null,
      resumesAt: job?.status === 'rate_limited' ? job.retry_after : null,
    },
    streams,
    nights: countBy(nights, ({ vendor }) => vendor),
    window: overview.window,
    day: overview.day,
    isComplete: hasImported && streams.left === 0,
  };
}

/** The import that begins with the connection. Undefined if Strava has never been connected. */
export const historyImport = (imports) =>
  imports.find(({ provider, type }) => provider === 'strava' && type === 'full');

export const hasEnded = (job) => !UNFINISHED.includes(job?.status);

// Activities that were typed in by hand have no streams: they are `unavailable` and count as nothing.
function streamsOf(counts = {}) {
  const { pending = 0, fetching = 0, deferred = 0, success: done = 0, failed = 0, eta = null } = counts;
  const left = pending + fetching + deferred;
  return { done, left, failed, total: done + left + failed, eta };
}

function countBy(items, keyOf) {
  const counts = {};
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1;
  return counts;
}

/** `Oura 61, WHOOP 9` */
export function nightsInWords(nights) {
  const names = { oura: 'Oura', whoop: 'WHOOP', polar: 'Polar', unknown: 'others' };
  return Object.entries(nights)
    .sort(([, one], [, other]) => other - one)
    .map(([vendor, count]) => `${names[vendor] ?? vendor} ${count}`)
    .join(', ');
}

export const sumOf = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** The lines for what was reached between two readings. Without an earlier reading there is no news. */
export function milestones(before, now) {
  if (!before) return [];
  const { streams } = now;
  const isHalf = ({ streams: { done, total } }) => total > 0 && done >= total / 2;
  return [
    ...(now.hasImported && !before.hasImported ? [`demo: ${now.importMessage}`] : []),
    ...(isHalf(now) && !isHalf(before) && !now.isComplete
      ? [`demo: streams of ${streams.done} of ${streams.total} activities are here`]
      : []),
    ...(now.isComplete && !before.isComplete
      ? [
          `demo: complete, with streams of ${streams.done} activities` +
            `${streams.failed > 0 ? ` (${streams.failed} failed)` : ''} and ${sumOf(now.nights)} nights: ${nightsInWords(now.nights)}`,
        ]
      : []),
  ];
}
