-- What others are told of logins that end, and deliveries that are made again.
alter table channels
  add column expiry_told_for timestamptz,  -- the end of the login that was told last
  add column expiry_told_days int;         -- how long before it: 7, then 1
alter table webhook_deliveries add column replayed_from int;                  -- its attempts when it was queued again
create index webhook_deliveries_replay on webhook_deliveries (webhook_id, seq) where state = 'pending' and next_attempt_at is null;   -- the next one that was queued again
create index webhook_attempts_failed on webhook_attempts (webhook_id, id desc) where status < 200 or status > 299;   -- GET /webhooks/:id/deliveries?state=failed
