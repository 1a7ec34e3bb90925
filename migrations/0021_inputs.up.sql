-- The inputs of a processor are an activity's recording, sport and totals. `input_revision` rises with every change of an
-- input. `seen_revision` is the value of `input_revision` when the runtime last took up the activity (`last_seen_at`). Revisions are
-- used instead of times, because a transaction that began earlier may commit later.
alter table activity
  add column input_revision bigint not null default 0,
  add column seen_revision bigint not null default 0;

drop index activity_undiscovered;
create index activity_unseen on activity (start_time desc)
  where (first_seen_at is null or seen_revision < input_revision) and stream_fetch_status in ('success', 'unavailable');

-- The revision when a run starts. The run reads these inputs or newer ones, but only this revision counts as processed.
alter table runs add column input_revision bigint not null default 0;
alter table processed_activities add column input_revision bigint not null default 0;

-- The input that the job's processor waits for. A job with this value is in `retry_wait` and has used no attempt by waiting.
alter table jobs add column waits_for text;

create function jobs_wait_over() returns trigger
language plpgsql
as $$
begin
  new.waits_for := null;
  return new;
end
$$;

create trigger jobs_wait_over before update of status on jobs
  for each row when (old.waits_for is not null and new.status <> 'retry_wait')
  execute function jobs_wait_over();
