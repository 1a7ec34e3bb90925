-- Taken out in the same step: a state works once.
delete from oauth_flow
where state_hash = $1 and provider = $2
returning athlete_id, return_url, verifier, expires_at > clock_timestamp() as is_live
