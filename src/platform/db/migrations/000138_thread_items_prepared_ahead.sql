-- Items behind a root are prepared ahead as well: without a due time from that of their root on, later by their own.
create index posts_behind_to_prepare on posts (due_at, publish_date)
  where state = 'QUEUE' and detail in ('scheduled', 'retrying') and deleted_at is null and root_post_id is not null and media <> '[]'; -- reconciler
