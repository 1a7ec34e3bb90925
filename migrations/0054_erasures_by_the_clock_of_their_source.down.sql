alter table sleep_erasure drop column received_until;
