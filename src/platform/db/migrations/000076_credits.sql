-- What an organization may have so many of in a billing month: one row for each that it took.

create table credits (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  type text not null check (type in ('video_export')),
  ref uuid not null,                        -- what took it
  created_at timestamptz not null default now(),
  unique (ref, type)                        -- one for each; given back by its reference
);
create index credits_of_month on credits (org_id, type, created_at);  -- how many of them were taken in a month
