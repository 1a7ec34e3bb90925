-- Deletes up to $2 of the oldest changes, if they are older than $1 ms, published and planned for webhooks, and moves the mark up to which
-- changes are deleted. It begins at the mark, so it does not pass over rows that are deleted but not yet vacuumed.
with mark as (
  select purged_seq from change_feed for update
), oldest as (
  select
    seq, id,
    occurred_at < clock_timestamp() - $1 * interval '1 millisecond'
      and seq <= (select published_seq from change_relay)
      and seq <= (select planned_seq from delivery_plan) as is_past
  from change
  where seq > (select purged_seq from mark)
  order by seq
  limit $2
), past as (
  select seq, id
  from oldest
  where seq < coalesce((select min(seq) from oldest where not is_past), 9223372036854775807)
), newest as (
  select seq, id from past order by seq desc limit 1
), moved as (
  update change_feed
  set purged_seq = newest.seq, purged_id = newest.id
  from newest
)
delete from change
where seq > (select purged_seq from mark)
  and seq <= (select seq from newest)
