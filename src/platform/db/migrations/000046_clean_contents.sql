-- Contents hold the elements of the editor only. A release before this one writes rows that are cleaned afterwards.
alter table posts add column content_clean boolean not null default false;
create index posts_content_to_clean on posts (id) where not content_clean;   -- the sweep `contents`
