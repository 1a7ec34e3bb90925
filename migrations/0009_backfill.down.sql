drop table backfill_switch;
