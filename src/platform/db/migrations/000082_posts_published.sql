-- Auto plugs look at posts so long after their publication.
create index posts_published on posts (channel_id, published_at)
  where state = 'PUBLISHED' and root_post_id is null and deleted_at is null;   -- the posts of a channel whose run is due
