-- Analytics: counts of channels and posts by day, and when they are read from the networks.

-- When the numbers of an organization are read next, and when its week is told next.
create table analytics_schedules (
  org_id uuid primary key references organizations on delete cascade,
  next_at timestamptz not null,
  summary_at timestamptz not null default now(),
  summary_for date,                        -- the local Monday whose summary is done; null: none was looked at yet
  summary_zone text                        -- the zone that `summary_at` was made with
);
create index analytics_schedules_next on analytics_schedules (next_at);          -- collection: organizations that are due
create index analytics_schedules_summary on analytics_schedules (summary_at);    -- weekly summary: organizations that are due

-- One collection of an organization: its numbers of one day.
create table analytics_runs (
  org_id uuid not null references organizations on delete cascade,
  day date not null,                       -- UTC; the last whole day before it was begun
  started_at timestamptz not null default now(),
  completed_at timestamptz,                -- every channel has ended
  primary key (org_id, day)
);
create index analytics_runs_open on analytics_runs (started_at) where completed_at is null;   -- collection: what may be complete
create index analytics_runs_old on analytics_runs (day);                                      -- retention

-- A channel that is left of a collection; the row goes when it was read, or given up.
create table analytics_collections (
  org_id uuid not null,
  day date not null,
  channel_id uuid not null,
  due_at timestamptz not null default now(),   -- of a claimed row the end of its claim
  claim uuid,
  failures int not null default 0,
  primary key (org_id, day, channel_id),
  foreign key (org_id, day) references analytics_runs on delete cascade
);
create index analytics_collections_due on analytics_collections (due_at);        -- collection: channels that are due

-- A day of a channel that could not be read.
create table analytics_gaps (
  org_id uuid not null,
  channel_id uuid not null references channels on delete cascade,
  date date not null,
  reason text not null,
  primary key (channel_id, date)
);
create index analytics_gaps_old on analytics_gaps (date);                        -- retention

-- A metric of a channel on one day.
create table analytics_days (
  org_id uuid not null,
  channel_id uuid not null references channels on delete cascade,
  metric text not null,
  date date not null,
  value double precision not null,
  derived boolean not null default false,  -- the growth of its posts, where the network has no series of its own
  primary key (channel_id, metric, date)
);
create index analytics_days_of_org on analytics_days (org_id, date, channel_id, metric);   -- overview and export of an organization
create index analytics_days_old on analytics_days (date);                                  -- roll-up

-- The same of a whole ISO week, after its days were rolled up.
create table analytics_weeks (
  org_id uuid not null,
  channel_id uuid not null references channels on delete cascade,
  metric text not null,
  week date not null,                      -- its Monday
  value double precision not null,
  derived boolean not null default false,
  primary key (channel_id, metric, week)
);
create index analytics_weeks_of_org on analytics_weeks (org_id, week, channel_id, metric);  -- overview and export of an organization

-- The running totals of a post as they were at the end of a day.
create table analytics_post_days (
  org_id uuid not null,
  channel_id uuid not null,
  post_id uuid not null references posts on delete cascade,
  date date not null,
  counts jsonb not null,                   -- by metric
  primary key (post_id, date)
);
create index analytics_post_days_of_channel on analytics_post_days (channel_id, date);     -- the growth of a channel's posts
create index analytics_post_days_old on analytics_post_days (date);                        -- retention
