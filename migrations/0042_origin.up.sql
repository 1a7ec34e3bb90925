-- The HTTP request that caused an event or a job, and the span that asked for it (W3C traceparent), so that log lines and traces of the worker
-- name the request. Null for work that no request caused.
alter table webhook_event
  add column request_id text,
  add column traceparent text;

alter table jobs
  add column request_id text,
  add column traceparent text;
