drop table dead_letter_order;
drop index athlete_subject;
drop index receipt_completed;
alter table receipt
  drop column subject,
  drop column rows_deleted_at,
  drop column until;
