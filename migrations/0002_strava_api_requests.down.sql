drop table vendor_budget_epoch;
drop table strava_api_requests;
