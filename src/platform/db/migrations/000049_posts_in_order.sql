-- Reading posts costs what is read, however many the table holds: each index has the order of the statement that it serves.

drop index posts_waiting;
create index posts_waiting on posts (org_id, channel_id, publish_date, seq)
  where state = 'QUEUE' and detail in ('scheduled', 'retrying') and due_at is not null and deleted_at is null; -- the taking update; due_at is never before publish_date

drop index posts_calendar;
create index posts_by_date on posts (org_id, publish_date, seq) where deleted_at is null and root_post_id is null;            -- lists, calendar, free posting times
create index posts_by_state on posts (org_id, state, publish_date, seq) where deleted_at is null and root_post_id is null;    -- lists of one state
