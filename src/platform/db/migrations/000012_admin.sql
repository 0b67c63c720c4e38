-- What super-admins do and see: orgs that are shut, acting as a user, faults of the service.

alter table organizations add column disabled_at timestamptz;   -- its credentials are refused, its queue stands still
create index organizations_disabled on organizations (disabled_at) where disabled_at is not null;   -- the sweep that keeps their queues still

create table impersonations (
  id uuid primary key,                     -- `jti` of its token
  admin_id uuid not null references users on delete cascade,
  user_id uuid not null references users on delete cascade,
  session_id uuid not null references sessions on delete cascade,   -- of the super-admin: it ends with it
  reason text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz
);
create index impersonations_of_session on impersonations (session_id) where ended_at is null;   -- ends the one before
create index impersonations_age on impersonations (expires_at);                                 -- the sweep

-- Every line that the log wrote as an error.
create table errors (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  incarnation text not null,               -- of the process
  room text not null,
  message text not null,
  error text,                              -- name, message and stack of what was thrown, without secrets
  detail jsonb not null default '{}'
);
create index errors_age on errors (at);    -- the sweep
