drop table change_relay;
