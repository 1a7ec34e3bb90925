alter table schema_migration drop column applied_at;
drop index operator_action_action;
drop index operator_action_actor;
drop index webhook_event_set_aside;
drop index connection_needs_reauth;
drop index athlete_by_subject;
