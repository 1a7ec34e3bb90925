-- Lists and counts of operators, whose time must not grow with the number of athletes and events.

-- A search for the beginning of a subject, in the order of the pages. The collation makes the prefix a range.
create index athlete_by_subject on athlete (subject collate "C", id);
-- Counts the connections that need a new consent.
create index connection_needs_reauth on connection (athlete_id) where status = 'needs_reauth';
-- Counts the events that were set aside. `webhook_event_open` also has the events that wait.
create index webhook_event_set_aside on webhook_event (id) where outcome = 'set_aside';
-- The audit log of one operator or of one action, newest first.
create index operator_action_actor on operator_action (actor, id);
create index operator_action_action on operator_action (action, id);

-- The number in `timestamp` is that of the file. Migrations from before this one have no time.
alter table schema_migration add column applied_at timestamptz;
alter table schema_migration alter column applied_at set default clock_timestamp();
