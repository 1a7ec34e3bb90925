alter table jobs
  drop column request_id,
  drop column traceparent;

alter table webhook_event
  drop column request_id,
  drop column traceparent;
