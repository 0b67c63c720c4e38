-- A post whose only file is in its settings (a cover) is prepared ahead as well. The condition is wider than before, so
-- the statements of the release before still use these indexes.
drop index posts_to_prepare;
create index posts_to_prepare on posts (publish_date)
  where state = 'QUEUE' and detail in ('scheduled', 'retrying') and due_at is not null and deleted_at is null and root_post_id is null
    and (media <> '[]' or settings @? '$.* ? (@ starts with "http" || @.path starts with "http")'); -- reconciler
drop index posts_behind_to_prepare;
create index posts_behind_to_prepare on posts (due_at, publish_date)
  where state = 'QUEUE' and detail in ('scheduled', 'retrying') and deleted_at is null and root_post_id is not null
    and (media <> '[]' or settings @? '$.* ? (@ starts with "http" || @.path starts with "http")'); -- reconciler
