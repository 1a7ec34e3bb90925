drop table sleep_comparison;
drop table oura_subscription_lease;
