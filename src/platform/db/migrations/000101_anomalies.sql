-- Values of a day that stand out from the days before.
create table analytics_anomalies (
  org_id uuid not null,
  channel_id uuid not null references channels on delete cascade,
  metric text not null,
  date date not null,
  direction text not null,
  value double precision not null,
  baseline double precision not null,      -- the mean of the days before
  deviation double precision not null,     -- in z-scores
  top_post_id uuid,                        -- a post that a quarter of the day is due to
  primary key (channel_id, metric, date),
  check (direction in ('spike', 'drop'))
);
create index analytics_anomalies_of_org on analytics_anomalies (org_id, date);   -- list, and the days without a second one
create index analytics_anomalies_old on analytics_anomalies (date);              -- retention
