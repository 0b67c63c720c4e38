-- A post that recurs says in `recurrence` how it goes on: {days, timezone, local, until, left, inter}; each date is a post of its own.
alter table posts
  add column recurrence jsonb,
  add column repeated_at timestamptz;      -- since then its series goes on with another post, or has ended
create index posts_to_repeat on posts (publish_date)
  where recurrence is not null and repeated_at is null and root_post_id is null and state in ('PUBLISHED', 'ERROR');    -- reconciler: a series without successor
create index posts_recurring on posts (org_id, publish_date)
  where recurrence is not null and repeated_at is null and root_post_id is null and deleted_at is null;                 -- lists: dates to come
create index posts_over_limit on posts (look_up_at)
  where state = 'QUEUE' and detail = 'paused' and error_kind is not distinct from 'billing_required' and deleted_at is null;               -- reconciler: looks for room in the plan
