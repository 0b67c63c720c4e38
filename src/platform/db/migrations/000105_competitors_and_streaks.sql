-- Accounts of others that an organization watches, with what their networks tell of them by day.
create table competitors (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  provider_id text not null,
  handle text not null,                          -- as the network writes it
  name text,                                     -- given by a person
  account_name text,                             -- told by the network
  picture text,
  metrics jsonb not null default '{}',           -- of the newest snapshot: {followers: 12}
  last_snapshot_at timestamptz,
  next_read_at timestamptz not null default now(),
  attempts int not null default 0,               -- in a row that failed
  error text,                                    -- why the last one failed
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index competitors_handle on competitors (org_id, provider_id, handle);
create index competitors_of_org on competitors (org_id, id);    -- GET /competitors
create index competitors_due on competitors (next_read_at);     -- the sweep

create table competitor_snapshots (
  competitor_id uuid not null references competitors on delete cascade,
  day date not null,                             -- UTC
  org_id uuid not null references organizations on delete cascade,
  metrics jsonb not null,
  primary key (competitor_id, day)
);
create index competitor_snapshots_of_org on competitor_snapshots (org_id);   -- an organization that is deleted
create index competitor_snapshots_age on competitor_snapshots (day);         -- the sweep

-- The days, in the zone of the organization, on which it published.
create table streak_days (
  org_id uuid not null references organizations on delete cascade,
  day date not null,
  reminded boolean not null default false,       -- members were told that the streak ends with the next day
  primary key (org_id, day)
);
create index streak_days_by_day on streak_days (day) where not reminded;     -- the sweep: streaks that end today

insert into streak_days (org_id, day)
select distinct p.org_id, (p.published_at at time zone coalesce(z.name, 'UTC'))::date
from posts p
join organizations o on o.id = p.org_id
left join pg_timezone_names z on z.name = o.timezone   -- the service may know more zones than the database
where p.state = 'PUBLISHED'
  and p.root_post_id is null
  and p.published_at is not null;
