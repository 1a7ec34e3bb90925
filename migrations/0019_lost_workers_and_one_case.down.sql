drop index jobs_claimable_alone;
drop index jobs_claimable;
alter table jobs drop column lost_workers;
create index jobs_claimable on jobs (priority desc, requested_at_utc, available_at_utc)
  where status in ('queued', 'retry_wait');
-- Subjects that were merged stay merged.
