// The guards that keep the product's promises. `npm run guards` removes one at a time, and the named test must then fail.
// `find` occurs exactly once in `file`; `replace` is the code without the guard, which still compiles and runs.

/**
 * @typedef {object} Guard
 * @property {string} name
 * @property {string} protects What would happen without the guard, as a reader of docs/guards.md reads it.
 * @property {string} file
 * @property {string} find
 * @property {string} replace
 * @property {string} spec The test file.
 * @property {string} title The title of the test that fails, or the part of it that does not depend on a table.
 */

/** @type {readonly Guard[]} */
export const GUARDS = [
  {
    name: 'budget-reserve',
    protects: 'Imports use up the calls that are reserved for live events.',
    file: 'libs/rate-limit/src/ceilings.ts',
    find: 'return limit - Math.min(atMost, Math.ceil((limit * percent) / 100)) + (countsThisCall ? 1 : 0);',
    replace: 'return limit + 0 * (atMost + percent + (countsThisCall ? 1 : 0));',
    spec: 'libs/rate-limit/src/vendor-budget.servers.spec.ts',
    title: 'the budget grants each class exactly its ceiling to two workers that request at once',
  },
  {
    name: 'budget-redis-time',
    protects:
      'A worker with a wrong clock charges a window that is over, and the vendor counts the call in the next.',
    file: 'libs/rate-limit/src/lua/acquire.lua',
    find: 'if nowMs < tonumber(ARGV[3]) or nowMs >= tonumber(ARGV[4]) then',
    replace: 'if false then',
    spec: 'libs/rate-limit/src/vendor-budget.servers.spec.ts',
    title:
      'the budget keeps every window’s limit over several boundaries although the vendor’s clock is 45 ms off',
  },
  {
    name: 'budget-server-identity',
    protects: 'After a fail-over, a Redis that lacks the newest calls grants them again.',
    file: 'libs/rate-limit/src/lua/acquire.lua',
    find: ' or not isSame then',
    replace: ' or not (isSame or server) then',
    spec: 'libs/rate-limit/src/fail-over.servers.spec.ts',
    title: 'the budget gives no permit twice after a replica that lacked the newest calls became the master',
  },
  {
    name: 'budget-epoch',
    protects:
      'A permit from before a rebuild of the counters is used after it, so one call is counted nowhere.',
    file: 'libs/rate-limit/src/sql/record-call.sql',
    find: '    and epoch = $7::bigint',
    replace: '    and epoch >= coalesce($7::bigint, 0) - epoch',
    spec: 'libs/rate-limit/src/vendor-budget.servers.spec.ts',
    title: 'a charge from before a rebuild cannot be recorded',
  },
  {
    name: 'held-work-lease',
    protects: 'Two workers hold the same row at the same time.',
    file: 'migrations/0025_held_work.up.sql',
    find: 'return leased_until is null or leased_until <= now();',
    replace: 'return leased_until is null or leased_until is not null;',
    spec: 'libs/platform/src/work/worker-model.servers.spec.ts',
    title: 'accept the writes of at most one claim per row, and leave no row held',
  },
  {
    name: 'event-fence',
    protects: 'A worker whose lease is over starts an event that another worker is handling.',
    file: 'libs/webhooks/src/sql/begin-work.sql',
    find: '    and fence = $3\n  for share',
    replace: '    and $3::bigint is not null\n  for share',
    spec: 'libs/webhooks/src/webhooks.servers.spec.ts',
    title: 'counts no attempt for a worker that loses its lease between the claim and the first read',
  },
  {
    name: 'stream-fetch-fence',
    protects: 'A worker that slept through its lease overwrites the streams of a newer fetch.',
    file: 'libs/streams/src/lifecycle/sql/succeed.sql',
    find: '    and stream_fetch_fence = $2\n',
    replace: '    and $2::bigint is not null\n',
    spec: 'libs/streams/src/lifecycle/stream-fetches.servers.spec.ts',
    title: 'of a paused worker changes nothing after',
  },
  {
    name: 'run-fence',
    protects: 'A worker that lost its job ends the run of the worker that has it now.',
    file: 'libs/processing/src/lifecycle/sql/complete.sql',
    find: '    and jobs.run_id = ended.run_id\n    and jobs.lease_owner = $1\n',
    replace: '    and $1::text is not null\n',
    spec: 'libs/processing/src/lifecycle/runs.servers.spec.ts',
    title: 'a run whose lease expired cannot write to its job or activity',
  },
  {
    name: 'night-order',
    protects: 'An older record of a night that arrives late replaces the newer one.',
    file: 'libs/sleep/src/normalise/sql/save-sessions.sql',
    find: 'kept.revision, kept.captured_at, ',
    replace: 'excluded.revision - 1, kept.captured_at, ',
    spec: 'libs/sleep/src/normalise/normaliser.servers.spec.ts',
    title: 'an older raw night never overwrites a newer raw night, and the newer night is published last',
  },
  {
    name: 'night-erasure',
    protects: 'An event that was waiting brings back the nights of an athlete who was deleted.',
    file: 'libs/sleep/src/normalise/sql/save-sessions.sql',
    find: '  where not is_erased',
    replace: '  where true or not is_erased',
    spec: 'libs/sleep/src/records/sleep-remains.servers.spec.ts',
    title: 'stores no night that was received before a deletion and had waited in',
  },
  {
    name: 'activity-order',
    protects: 'A list that was requested earlier and arrives later replaces newer data of an activity.',
    file: 'libs/activities/src/sql/save-summaries.sql',
    find: 'where activity.asked_at <= excluded.asked_at',
    replace: 'where activity.asked_at is not null',
    spec: 'libs/activities/src/activity-store.servers.spec.ts',
    title: 'a vendor answer that was requested earlier than the stored answer changes nothing',
  },
  {
    name: 'activity-tombstone',
    protects: 'A list from before a deletion brings the deleted activity back.',
    file: 'libs/activities/src/sql/save-summaries.sql',
    find: '    and activity_tombstone.deleted_at >= $2',
    replace: "    and activity_tombstone.deleted_at > 'infinity'",
    spec: 'libs/activities/src/activity-store.servers.spec.ts',
    title:
      'an answer requested before the activity was deleted is ignored, and an answer requested later is stored',
  },
  {
    name: 'dead-letter-before-term',
    protects: 'A night that cannot be stored ends its delivery before its dead letter is kept, and is lost.',
    file: 'libs/sleep/src/dead-letter.ts',
    find: '    onNotStored(err);\n    message.nak(retryMs);\n    return false;',
    replace: '    onNotStored(err);\n    message.term();\n    return retryMs < 0;',
    spec: 'libs/sleep/src/normalise/normaliser.servers.spec.ts',
    title: 'keeps a malformed raw night until the stream takes its dead letter',
  },
  {
    name: 'refresh-lock',
    protects: 'Two processes use one refresh token; a vendor that rotates tokens then ends the grant.',
    file: 'libs/connections/src/sql/claim-refresh.sql',
    find: '  and (refresh_leased_until is null or refresh_leased_until <= clock_timestamp())\n',
    replace: '',
    spec: 'libs/connections/src/refresh/renewal.servers.spec.ts',
    title: 'eight workers at the same time refresh a token with one call, and all get the new token',
  },
  {
    name: 'consent-owner',
    protects: 'Somebody who did not begin a connection confirms it, and gets another person’s data.',
    file: 'libs/connections/src/sql/take-consent.sql',
    find: '(athlete_id = $3::uuid and begun_by is not distinct from $5)',
    replace: '($3::uuid is not null and ($5::text is null or true))',
    spec: 'libs/connections/src/connect/connect-flow.servers.spec.ts',
    title: 'refuses a confirmation by another athlete as unknown, and does not use up the consent',
  },
  {
    name: 'stream-owner',
    protects: 'An athlete reads the recordings of another.',
    file: 'libs/streams/src/reading/sql/find-heads.sql',
    find: '  and activity.athlete_id = requested.athlete_id\n',
    replace: '',
    spec: 'libs/streams/src/reading/streams.servers.spec.ts',
    title: 'throws NotFound for another athlete’s streams, also from the cache and with a matching version',
  },
  {
    name: 'csrf-token',
    protects: 'Another site makes the browser of a signed-in operator delete an athlete.',
    file: 'libs/platform/src/auth/session-verifier.ts',
    find: 'if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw',
    replace: 'if (given.length !== wanted.length && !timingSafeEqual(wanted, wanted)) throw',
    spec: 'libs/platform/src/auth/session-verifier.spec.ts',
    title: 'only with the session’s token',
  },
  {
    name: 'public-addresses',
    protects:
      'An app’s webhook endpoint leads into the private network (SSRF), for example through a name whose address changes.',
    file: 'libs/platform/src/net/public-addresses.ts',
    find: "  return !notPublic.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');",
    replace: "  return !notPublic.check('8.8.8.8', isIPv6(address) ? 'ipv4' : 'ipv4');",
    spec: 'libs/push/src/deliveries/endpoint-caller.spec.ts',
    title: 'an attempt never connects to %s',
  },
  {
    name: 'public-lookup',
    protects:
      'The name of an app’s webhook endpoint leads into the private network at the connection, though its addresses were public before.',
    file: 'libs/reliability/src/http-exchange.ts',
    find: '...(publicOnly && { lookup: publicLookup(lookup) })',
    replace: '...(publicOnly && lookup && { lookup: lookup as never })',
    spec: 'libs/push/src/deliveries/endpoint-caller.spec.ts',
    title:
      'an attempt asks for the addresses of %s each time, and never connects if one of them is not public',
  },
  {
    name: 'webhook-signature',
    protects: 'Anybody sends events in the name of WHOOP.',
    file: 'libs/vendors/src/whoop/webhook.ts',
    find: '  return timingSafeEqual(given, expected) ?',
    replace: '  return timingSafeEqual(given, given) || timingSafeEqual(given, expected) ?',
    spec: 'libs/vendors/src/whoop/webhook.spec.ts',
    title: 'signedByWhoopAtMs rejects a signature made with another secret',
  },
  {
    name: 'event-once',
    protects: 'A vendor’s repeated event is handled twice.',
    file: 'libs/webhooks/src/sql/receive-event.sql',
    find: '    $1, $2, $3, $4, $5, $6, coalesce',
    replace: '    $1, $2 || gen_random_uuid(), $3, $4, $5, $6, coalesce',
    spec: 'libs/webhooks/src/webhooks.servers.spec.ts',
    title: 'once, byte for byte, when it arrives eight times at the same moment',
  },
  {
    name: 'outbox-in-the-transaction',
    protects:
      'A change is announced although its transaction was rolled back, or is lost although it was committed.',
    file: 'libs/platform/src/changes/changes.ts',
    find: "    await sql.query(\n      'insert into change_outbox (type, athlete_id, subject_id, data) values ($1, $2, $3, $4)'",
    replace:
      "    await (sql && this.database).query(\n      'insert into change_outbox (type, athlete_id, subject_id, data) values ($1, $2, $3, $4)'",
    spec: 'libs/platform/src/changes/changes.servers.spec.ts',
    title: 'lacks the change of a transaction that was rolled back',
  },
  {
    name: 'delivery-fence',
    protects:
      'A worker whose lease on an endpoint is over writes an outcome for a delivery that another worker is making.',
    file: 'libs/push/src/deliveries/sql/write-attempts.sql',
    find: ' and endpoint.fence = attempt.fence',
    replace: '',
    spec: 'libs/push/src/deliveries/deliveries.servers.spec.ts',
    title: 'a worker whose lease has ended writes nothing more, and another worker sends the delivery again',
  },
];

/** The table of docs/guards.md. */
export function tableOf(guards) {
  const rows = guards.map(
    ({ name, protects, file, spec, title }) =>
      `| \`${name}\` | ${protects} | \`${file}\` | \`${spec}\`: ${title} |`,
  );
  return ['| guard | without it | code | test that fails |', '| --- | --- | --- | --- |', ...rows].join('\n');
}
