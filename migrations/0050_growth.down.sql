drop index connection_ending;
drop index activity_sync_oldest;
