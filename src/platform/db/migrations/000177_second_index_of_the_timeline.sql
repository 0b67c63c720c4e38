--! concurrently
-- Covered by the primary key since 000176.
drop index concurrently if exists post_timeline_of_post;
