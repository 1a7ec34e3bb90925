-- Claims the connected athlete whose history was compared longest ago. Until the reconciliation is done or the lease ends, other
-- workers claim the next athlete. An interrupted reconciliation continues from its progress.
-- The CTE runs once. A subquery in `from` may run for each row of `activity_sync`, and the update would then claim several rows.
with due as materialized (
  select
    activity_sync.athlete_id,
    activity_sync.provider,
    connection.scopes,
    connection.connected_at,
    coalesce(whole_history_reconciled_at, last_sync_at) < clock_timestamp() - $2 * interval '1 millisecond' as is_whole
  from activity_sync
  join connection
    on connection.athlete_id = activity_sync.athlete_id
    and connection.provider = activity_sync.provider
    and connection.status = 'active'
  where activity_sync.provider = $4
    -- With clock_timestamp() Postgres would not use the index.
    and coalesce(reconciled_at, last_sync_at) < now() - $1 * interval '1 millisecond'
    -- A consent ends a pause.
    and (reconcile_after is null or reconcile_after <= now() or connection.connected_at > postponed_at)
    and is_free(leased_until)
    and not exists (
      select 1
      from import_jobs
      where import_jobs.athlete_id = activity_sync.athlete_id
        and import_jobs.provider = activity_sync.provider
        and import_jobs.status in ('queued', 'started', 'rate_limited')
    )
    -- If the vendor sends events of each change ($5), an athlete whose events arrive and are applied can wait for the weekly
    -- reconciliation of the whole history. That reconciliation finds the effect of a lost event.
    and (
      not $5
      or reconcile_progress is not null
      or coalesce(whole_history_reconciled_at, last_sync_at) < clock_timestamp() - $2 * interval '1 millisecond'
      or not exists (
        select 1
        from webhook_event
        where webhook_event.vendor = connection.provider
          and webhook_event.owner_id = connection.vendor_athlete_id
          and webhook_event.object_type = 'activity'
          and webhook_event.outcome in ('applied', 'deleted')
          and webhook_event.processed_at >= clock_timestamp() - $1 * interval '1 millisecond'
      )
    )
  order by coalesce(reconciled_at, last_sync_at)
  limit 1
  for update of activity_sync skip locked
)
update activity_sync
set leased_until = lease_end($3), fence = fence + 1
from due
where activity_sync.athlete_id = due.athlete_id
  and activity_sync.provider = due.provider
returning
  activity_sync.athlete_id, due.provider, due.is_whole, due.scopes, due.connected_at, activity_sync.reconcile_progress as progress,
  clock_timestamp() as claimed_at, activity_sync.fence
