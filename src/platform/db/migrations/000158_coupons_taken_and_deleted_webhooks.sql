-- The coupon of the operator that an organization has taken: one that ends is not offered again (DE7).
alter table organizations add column coupon_taken text;

-- A webhook that was deleted keeps no secret, and goes when its last delivery has gone.
update webhooks
set secret = null, previous_secret = null, older_secret = null, older_secret_until = null
where deleted_at is not null;
create index webhooks_deleted on webhooks (deleted_at) where deleted_at is not null;   -- the sweep
