drop index jobs_failed;
drop index activity_undiscovered;
