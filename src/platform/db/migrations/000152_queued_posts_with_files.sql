create index posts_queued_with_files on posts (org_id)
  where state = 'QUEUE' and deleted_at is null
    and (media <> '[]' or settings @? '$.* ? (@ starts with "http" || @.path starts with "http")'); -- whether a queued post needs a file that is deleted
