-- Moves up to $1 committed changes from the outbox to the end of the log. The caller holds the lock of `change_feed`, so this statement sees
-- all that the sequencer before it has left, and commits before the next one begins.
with taken as (
  delete from change_outbox
  where revision = any(array(select revision from change_outbox order by revision limit $1))
  returning *
), head as (
  update change_feed
  set last_seq = last_seq + (select count(*) from taken)
  returning last_seq - (select count(*) from taken) as before
), moved as (
  insert into change (seq, id, revision, type, athlete_id, subject_id, occurred_at, data)
  select
    head.before + row_number() over (order by revision), id, revision, type, athlete_id, subject_id, occurred_at,
    -- A change without an item gets the item as it is now: after the end of a run, or for a new `same_as`. A deletion has no item.
    case
      when type in ('activity.processed', 'activity.updated') and activity is null then to_json(activity_item_of(subject_id::uuid))
      else coalesce(data, to_json(activity))
    end
  from taken
  cross join head
)
select count(*)::int as moved
from taken
