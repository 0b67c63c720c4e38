-- A campaign is a tag with dates: its name and color are those of the tag, its posts those that carry the tag. A brake
-- that stands on a campaign is named by the id of its tag, in `brakes` and in the rows of channels.
create table campaigns (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  tag_id uuid not null unique references tags,   -- who deletes the tag deletes the campaign first
  description text not null default '',
  start_date date,
  end_date date,                                 -- its last day
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (end_date >= start_date)
);
create index campaigns_of_org on campaigns (org_id, id);       -- GET /campaigns
create index campaigns_ended on campaigns (end_date);          -- the sweep
create index posts_tagged on posts using gin (tag_ids) where tag_ids <> '{}';   -- counts the posts of a campaign
