drop table webhook_replay;
drop table delivery_plan;
drop table webhook_delivery;
drop table webhook_endpoint;
drop function names_type(text[], text);
