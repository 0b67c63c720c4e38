-- Pictures, films and sound that providers make for an organization: one row a job, written before the provider is asked.

create table media_jobs (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  user_id uuid references users on delete set null,
  operation text not null,
  provider_id text not null,
  provider_version text not null,
  setting_id uuid references provider_settings,  -- while the job is at work: until then its key cannot be deleted
  own_setting boolean not null,
  model text,
  request jsonb not null,                        -- checked; of files of the library their ids
  input_hash text not null,                      -- SHA-256 of the request
  fallbacks jsonb not null default '[]',         -- who is asked next when this provider cannot
  reservation uuid not null,                     -- of the greatest cost, in the ledger
  estimate_micros bigint,
  is_export boolean not null,                    -- it takes one of the video exports of the month
  state text not null default 'queued'
    check (state in ('queued', 'running', 'copying', 'done', 'failed', 'cancelled', 'unknown')),
  attempt integer not null default 0,            -- submits; a claim for one counts
  submitted_at timestamptz,                      -- claimed for its submit, and not to wait for a turn any more
  sent_at timestamptz,                           -- since then the submit may have left: it is never sent again
  handle jsonb,                                  -- the operation at the provider
  outputs jsonb,                                 -- results that are not copied yet: their addresses, for as long
  segments jsonb,                                -- of a transcription
  file_ids uuid[] not null default '{}',
  progress integer,
  tries integer not null default 0,              -- polls, look-ups or copies of this state
  cost_micros bigint,
  cost_source text,
  error_code text,
  error text,
  deadline_at timestamptz,                       -- then the provider is told to stop, and the job has failed
  next_at timestamptz,                           -- the next step; of a claimed one the end of its lease; null: none
  incarnation text,                              -- the process that has claimed the step
  claim integer not null default 0,              -- claims; whoever writes a result names its own
  claimed_at timestamptz,
  cancel_asked_at timestamptz,
  callback_at timestamptz,
  settled_at timestamptz,                        -- the reservation is over
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz
);
create index media_jobs_due on media_jobs (provider_id, next_at)
  where next_at is not null and submitted_at is not null;      -- worker: steps that are due, by provider
create index media_jobs_queued on media_jobs (org_id, provider_id, created_at)
  where state = 'queued' and submitted_at is null;             -- worker: who is submitted next
create index media_jobs_active on media_jobs (org_id, provider_id)
  where submitted_at is not null and ended_at is null;         -- worker: how many of an organization are at a provider
create index media_jobs_handle on media_jobs using hash (handle)
  where handle is not null;                                    -- look-up: whether another job has an operation
create index media_jobs_of_org on media_jobs (org_id, id);     -- a job by its id; what goes with an organization
create index media_jobs_of_user on media_jobs (user_id) where user_id is not null;           -- what a deleted user leaves
create index media_jobs_of_setting on media_jobs (setting_id) where setting_id is not null;  -- whether a key is in use
create index media_jobs_ended on media_jobs (ended_at) where ended_at is not null;           -- sweep: old ones
create index media_jobs_unsettled on media_jobs (ended_at)
  where state = 'unknown' and settled_at is null;              -- sweep: settled by estimate after a week
