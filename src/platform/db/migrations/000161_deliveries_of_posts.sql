-- The timeline of a post tells of the webhooks that were told of it; of deliveries before this, it does not.
alter table webhook_deliveries add column post_id uuid;   -- no reference: a delivery outlives its post
