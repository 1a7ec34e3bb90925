-- Stores the sessions that are newer than ours and not erased. Returns the number of the erased ones of each source.
with sent as materialized (
  select
    sent.*,
    exists (
      select 1
      from sleep_erasure
      where sleep_erasure.user_id = sent.user_id
        and sleep_erasure.source = sent.source
        and (
          sleep_erasure.received_until >= to_timestamp(sent.received_at_ms / 1000)
          -- An app may send a night again after the deletion. The night is refused until an athlete of this subject exists again. The new
          -- athlete is found by subject, because the id differs if an issuer was configured since.
          or not exists (select 1 from athlete where athlete.subject = sent.user_id)
        )
    ) as is_erased
  from unnest(
    string_to_array($1, chr(30), ''), $2::text[], string_to_array($3, chr(30), ''), $4::date[], $5::text[], $6::int[],
    $7::float8[], $8::bool[], $9::text[], $10::bigint[], $11::float8[], $12::bigint[], string_to_array($13, chr(30), ''),
    string_to_array($14, chr(30), ''), $15::float8[]
  ) as sent (
    user_id, source, record_id, date, vendor, duration_minutes, quality_score, nap, state, revision, captured_at_ms,
    payload_hash, event_id, raw, received_at_ms
  )
), saved as (
  insert into sleep_session as kept (
    user_id, source, record_id, date, vendor, duration_minutes, quality_score, nap, state, revision, captured_at,
    payload_hash, event_id, raw
  )
  select
    user_id, source, record_id, date, vendor, duration_minutes, quality_score, nap, state, revision,
    to_timestamp(captured_at_ms / 1000), payload_hash, event_id, raw
  from sent
  where not is_erased
  on conflict (user_id, source, record_id) do update
  set
    -- An event of a deletion does not know the record's date.
    date = case when excluded.state = 'deleted' then kept.date else excluded.date end,
    former_dates = case
      when excluded.state = 'deleted' or excluded.date = kept.date then kept.former_dates
      else array_append(array_remove(kept.former_dates, excluded.date), kept.date)
    end,
    vendor = excluded.vendor,
    duration_minutes = excluded.duration_minutes,
    quality_score = excluded.quality_score,
    nap = excluded.nap,
    state = excluded.state,
    revision = excluded.revision,
    captured_at = excluded.captured_at,
    payload_hash = excluded.payload_hash,
    event_id = excluded.event_id,
    raw = excluded.raw
  -- `completenessOf` in session.ts says why a score decides before the hash.
  where (
    kept.revision, kept.captured_at, kept.state <> 'pending', kept.quality_score is not null, kept.payload_hash
  ) < (
    excluded.revision, excluded.captured_at, excluded.state <> 'pending', excluded.quality_score is not null,
    excluded.payload_hash
  )
)
select source, count(*)::int as count
from sent
where is_erased
group by source
