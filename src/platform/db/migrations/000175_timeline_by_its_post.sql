--! concurrently
-- The timeline of a post, in its order. It takes the place of the primary key by the number of an entry, by which nobody
-- looks, and of the index that had the same columns: each entry is written to one index less.
create unique index concurrently if not exists post_timeline_by_post on post_timeline (post_id, id);
