alter table vendor_budget_epoch
  drop column vendor_difference_least_ms,
  drop column vendor_difference_most_ms;
