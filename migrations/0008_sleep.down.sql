delete from vendor_budget_epoch where vendor in ('oura', 'whoop');
drop table whoop_api_requests;
drop table oura_api_requests;
drop table operator_action;
drop table sleep_erasure;
drop table sleep_data;
drop table sleep_session;
