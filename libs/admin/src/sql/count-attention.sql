-- An endpoint counts as failing if its circuit breaker is open (8 failures in a row), or if a worker and not a person has disabled it.
select
  (
    select count(*)
    from connection
    where status = 'needs_reauth'
  )::int as needs_reauth,
  (
    select count(*)
    from webhook_endpoint
    where (status = 'active' and failures >= 8)
      or (status = 'disabled' and disabled_reason <> 'Disabled by request.')
  )::int as failing_endpoints,
  (
    select count(*)
    from webhook_event
    where outcome = 'set_aside'
  )::int as webhook_events_set_aside
