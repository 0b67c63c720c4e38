-- What a program may do at most: an API key, or an app that a person approved. Null: as much as its owner.

create table program_limits (
  program_id uuid generated always as (coalesce(api_key_id, authorization_id)) stored primary key,
  org_id uuid not null references organizations on delete cascade,
  api_key_id uuid unique references api_keys on delete cascade,
  authorization_id uuid unique references oauth_authorizations on delete cascade,
  requests_per_hour integer,
  posts_per_day integer,
  ai_cents_per_day integer,
  posts_day date,                          -- UTC: the day of the last post that was counted
  posts integer not null default 0,        -- of that day
  updated_at timestamptz not null default now(),
  check (num_nonnulls(api_key_id, authorization_id) = 1)
);
create index program_limits_of_org on program_limits (org_id);   -- when an organization is deleted

-- Of a program with a cap: its day is a window of `ai_spend` with the domain `program`.
alter table ai_ledger add column program_id uuid;
alter table ai_reservations add column program_id uuid;
alter table media_jobs add column program_id uuid;
