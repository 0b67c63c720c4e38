alter table post_timeline drop constraint post_timeline_pkey;
alter table post_timeline add constraint post_timeline_pkey primary key using index post_timeline_by_post;
