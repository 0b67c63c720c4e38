-- Networks prepare posts with media ahead of the publish date, beside the slot of the channel. `posts.saved` says so in
-- `ahead`: {attempt, at, isReady}, until an attempt counts the post or saves something itself.
alter table posts
  add column preparation uuid,             -- whoever prepares it names this; anybody else's results are refused
  add column prepare_at timestamptz;       -- before it nobody else prepares the post; null: at once, infinity: never again
create index posts_to_prepare on posts (publish_date)
  where state = 'QUEUE' and detail in ('scheduled', 'retrying') and due_at is not null and deleted_at is null and root_post_id is null and media <> '[]'; -- reconciler
