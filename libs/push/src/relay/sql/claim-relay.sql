-- Claims the relay for $1 ms if there are changes to publish. Until its holder settles it, the next one has to look for messages whose
-- sequences are not stored.
with free as (
  select needs_recovery
  from change_relay
  where is_free(leased_until)
    and published_seq < (select last_seq from change_feed)
  for update skip locked
)
update change_relay
set fence = fence + 1, leased_until = lease_end($1), needs_recovery = true
from free
returning published_seq, stream_seq, fence, free.needs_recovery
