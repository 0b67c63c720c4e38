-- Runs: work by AI in steps that any process may take up, with what open pages hear of it, and its traces.

create table runs (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  user_id uuid references users on delete set null,   -- who asked for it
  kind text not null,
  state text not null,                                -- a word of the kind
  is_active boolean not null,                         -- a round of steps is under way
  round int not null default 1,
  input jsonb not null,
  output jsonb,
  error text,
  events int not null default 0,                      -- the number of the last event
  deadline_at timestamptz,                            -- of the round
  created_at timestamptz not null default now(),
  touched_at timestamptz not null default now()       -- by a person, a step or its progress
);
create index runs_of_org on runs (org_id, kind, id desc);                         -- lists
create index runs_touched on runs (touched_at);                                   -- retention
create index runs_active on runs (kind, state, touched_at);                       -- those that are stuck
create index runs_of_user on runs (user_id) where user_id is not null;            -- when a person is deleted

create table run_steps (
  id uuid primary key,                                -- also that of its media job
  run_id uuid not null references runs on delete cascade,
  org_id uuid not null,
  round int not null,
  place int not null,
  name text not null,
  input jsonb not null,
  after text[] not null,                              -- steps of the round that end before it begins
  anyway boolean not null,                            -- it begins also where one of those failed
  state text not null default 'waiting',
  output jsonb,
  error text,
  error_code text,
  deadline_ms int not null,
  deadline_at timestamptz,                            -- since its first claim
  next_at timestamptz,                                -- when it is to be claimed; while it is worked on, the end of the lease
  incarnation text,
  claim int not null default 0,
  reservation uuid,                                   -- of the call under way
  lost int not null default 0,                        -- answers that did not come
  has_job boolean not null default false,
  unique (run_id, round, name)
);
create index run_steps_due on run_steps (next_at) where next_at is not null;      -- claims

create table run_events (
  run_id uuid not null references runs on delete cascade,
  n int not null,
  org_id uuid not null,
  kind text not null,
  data jsonb not null,
  at timestamptz not null default now(),
  primary key (run_id, n)
);

create table ai_traces (
  id uuid primary key,                                -- the reference of its reservation
  org_id uuid not null references organizations on delete cascade,
  user_id uuid references users on delete set null,
  run_id uuid not null,                               -- no key: a trace outlives a run that was deleted, until its own time
  step text not null,
  provider_id text not null,
  model text not null,                                -- as the answer names it
  prompt_version text not null,
  input_tokens int,
  output_tokens int,
  cost_micros bigint,
  ended text not null,                                -- stop, length, filter, other, or the failure of the provider
  input text not null,
  output text,
  began_at timestamptz not null,
  ended_at timestamptz not null
);
create index ai_traces_of_run on ai_traces (org_id, run_id, id);                  -- GET /ai/traces
create index ai_traces_age on ai_traces (ended_at);                               -- retention
create index ai_traces_of_user on ai_traces (user_id) where user_id is not null;  -- when a person is deleted
