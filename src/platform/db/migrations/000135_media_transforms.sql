-- Changes of files that are made here, such as a smaller picture: one row a job, whose result is a new file.

create table media_transforms (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  user_id uuid references users on delete set null,
  source_id uuid not null,                       -- the file that it starts from, which may be deleted meanwhile
  operation text not null,
  params jsonb not null,                         -- checked
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed', 'cancelled')),
  file_id uuid,                                  -- the result
  error_code text,
  error text,
  attempt integer not null default 0,            -- claims that were not handed back
  claim integer not null default 0,              -- claims; whoever writes a result names its own
  incarnation text,                              -- the process that works on it
  next_at timestamptz default now(),             -- when it is due; of a claimed one the end of its lease; null: ended
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  ended_at timestamptz
);
create index media_transforms_open on media_transforms (org_id, next_at)
  where ended_at is null;                                      -- worker: what is due; how many of an organization wait
create index media_transforms_of_org on media_transforms (org_id, id);  -- a job by its id; what goes with an organization
create index media_transforms_of_user on media_transforms (user_id) where user_id is not null;   -- what a deleted user leaves
create index media_transforms_ended on media_transforms (ended_at) where ended_at is not null;   -- sweep: old ones

alter table files add column derived_from uuid;                -- the file that a changed one was made of

-- A changed copy keeps the attribution of its original, and is not the file that was taken from the source.
drop index files_stock_item;
create unique index files_stock_item on files (org_id, (attribution->>'provider'), (attribution->>'itemId'))
  where attribution is not null and deleted_at is null and derived_from is null;
