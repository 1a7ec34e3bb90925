drop index receipt_recent;
drop index import_jobs_unhappy;
create index import_jobs_unhappy on import_jobs (status) where status in ('failed', 'cancelled');
drop index import_jobs_recent;
drop table stream_reset_order;
drop index activity_stream_failed;
