drop table sleep_untold;
