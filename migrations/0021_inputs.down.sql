drop trigger jobs_wait_over on jobs;
drop function jobs_wait_over();
alter table jobs drop column waits_for;
alter table processed_activities drop column input_revision;
alter table runs drop column input_revision;
drop index activity_unseen;
create index activity_undiscovered on activity (start_time desc)
  where first_seen_at is null and stream_fetch_status in ('success', 'unavailable');
alter table activity
  drop column input_revision,
  drop column seen_revision;
