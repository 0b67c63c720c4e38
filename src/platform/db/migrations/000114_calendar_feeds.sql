-- The calendar feed of a channel for one person: who has the token reads what that person may read. One feed for each
-- person and channel; it goes with the membership.
create table calendar_feeds (
  channel_id uuid not null references channels on delete cascade,
  user_id uuid not null,
  org_id uuid not null,
  token_hash bytea not null,
  created_at timestamptz not null default now(),
  primary key (channel_id, user_id),
  foreign key (org_id, user_id) references memberships on delete cascade
);
create unique index calendar_feeds_token on calendar_feeds (token_hash);             -- a call of the feed
create index calendar_feeds_of_member on calendar_feeds (org_id, user_id);           -- the end of a membership
