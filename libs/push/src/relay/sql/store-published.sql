-- Stores the sequences in the NATS stream ($2) of changes ($1, places in the log). The holder's fence is checked by the statement after it.
update change
set published_as = stored.stream_seq
from unnest($1::bigint[], $2::bigint[]) as stored (seq, stream_seq)
where change.seq = stored.seq
