-- Auto plugs of channels: which one looks at their posts, and with what.

create table plug_configurations (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  channel_id uuid not null references channels on delete cascade,
  plug_function text not null,             -- the identifier of the plug
  fields jsonb not null,                   -- [{name, value}], checked
  activated boolean not null default true,
  runs bigint not null default 0,          -- posts that were looked at
  last_run_at timestamptz,
  ran_until timestamptz not null default now(),   -- runs of posts up to here were made, or are not made any more
  next_run_at timestamptz,                 -- the next look; null while it is not activated
  claim uuid,                              -- of the look that is being made
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (channel_id, plug_function)
);
create index plug_configurations_of_org on plug_configurations (org_id);                                   -- what goes with an organization
create index plug_configurations_due on plug_configurations (next_run_at) where next_run_at is not null;   -- sweep: looks that are due
