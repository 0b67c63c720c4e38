-- Everything of the first release: identity, channels, posts, webhooks, media, and what the actors stand on.
-- Times are timestamptz with the database's clock. "Due" is always asked of now().

-- Identity ------------------------------------------------------------------------------------------------------------

create table users (
  id uuid primary key,
  email text not null,
  provider_name text not null,             -- `local`, `google`, …
  provider_id text not null,               -- the account's id at that provider; the user's own id for `local`
  password_hash text,                      -- Argon2id in PHC form, only for `local`
  is_super_admin boolean not null default false,
  activated boolean not null default false,
  last_online timestamptz,
  ip text,
  agent text,
  last_read_notifications timestamptz not null default now(),
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index users_email_provider on users (lower(email), provider_name);   -- US2
create unique index users_provider_account on users (provider_name, provider_id);

create table user_profiles (
  user_id uuid primary key references users on delete cascade,
  name text not null default '',
  last_name text not null default '',
  bio text not null default '',
  avatar_url text,
  picture_id uuid,
  timezone text not null default 'UTC',
  notification_preferences jsonb not null default '{}'
);

create table organizations (
  id uuid primary key,
  name text not null,
  timezone text not null default 'UTC',
  settings jsonb not null default '{}',
  allow_trial boolean not null default true,
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);

create table memberships (
  org_id uuid not null references organizations on delete cascade,
  user_id uuid not null references users on delete cascade,
  role_key text not null,                  -- a system role's key, or the id of a row of `roles`
  disabled boolean not null default false,
  last_used_at timestamptz,                -- null: the user has not acted for it yet
  created_at timestamptz not null default now(),
  primary key (org_id, user_id)
);
create index memberships_of_user on memberships (user_id, last_used_at desc nulls last);   -- which org a session acts for (S45)

create table sessions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  token_hash bytea not null,               -- SHA-256 of the login refresh token
  previous_token_hash bytea,               -- of the one before: its second use is a theft (SE3)
  rotated_at timestamptz,
  user_agent text not null default '',
  ip text not null default '',
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create unique index sessions_token on sessions (token_hash);
create index sessions_previous_token on sessions (previous_token_hash) where previous_token_hash is not null;
create index sessions_of_user on sessions (user_id) where revoked_at is null;

create table api_keys (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  user_id uuid not null references users on delete cascade,
  name text not null,
  prefix text not null,
  key_hash bytea not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now()
);
create unique index api_keys_hash on api_keys (key_hash);                          -- authentication
create index api_keys_of_user on api_keys (org_id, user_id, created_at desc);      -- GET /user/api-keys

-- Providers -----------------------------------------------------------------------------------------------------------

-- An app that was registered at a server of the user's choice (mastodon, pixelfed), one for each server and redirect address.
create table provider_apps (
  domain text not null,
  provider_id text not null,
  provider_version text not null,
  server text not null,                    -- origin of the server
  redirect_uri text not null,
  client_id text not null,
  client_secret text not null,             -- sealed
  created_at timestamptz not null default now(),
  primary key (domain, provider_id, server, redirect_uri)
);

-- Channels ------------------------------------------------------------------------------------------------------------

create table customers (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  name text not null
);
create unique index customers_name on customers (org_id, lower(name));

create table channels (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  provider_id text not null,
  provider_version text not null,          -- pinned when connected
  internal_id text not null,               -- the account's id at the network
  name text not null,
  handle text not null default '',
  picture text,
  credentials text not null,               -- sealed JSON: the fields that a person typed in, the app, the tokens
  token_expires_at timestamptz,            -- when a person has to log in again; null where the service renews the token itself, or it does not expire
  renamed boolean not null default false,  -- a person chose name and picture: a new login keeps them
  settings jsonb not null default '{}',    -- the provider's own settings of this channel
  additional_settings text not null default '[]',
  posting_times int[] not null default '{120,400,700}',
  customer_id uuid references customers on delete set null,
  disabled boolean not null default false,
  refresh_needed boolean not null default false,
  refresh_reason text,
  refresh_claim uuid,                      -- who renews the token; one at a time over all processes
  refresh_until timestamptz,               -- after this a crashed renewal can be claimed again
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- the publishing slot: one post of a channel is on its way at a time
  slot_incarnation text,                   -- the host that calls the provider
  slot_post_id uuid,
  slot_until timestamptz,
  next_due_at timestamptz,                 -- least due_at of the posts that wait; carries the guarantee of the reminder `due`
  registered_for timestamptz,              -- the due time that a reminder was last registered for
  moves bigint not null default 0          -- grows with every write that may bring a due time nearer: the taking update raises next_due_at only when it has seen them all
);
create unique index channels_account on channels (org_id, provider_id, internal_id);   -- the same account is the same channel (S246), deleted ones included
create index channels_of_org on channels (org_id, created_at) where deleted_at is null;
create index channels_due on channels (next_due_at) where next_due_at is not null and slot_incarnation is null and not disabled and not refresh_needed and deleted_at is null;   -- reconciler: due and untouched
create index channels_entering on channels (next_due_at) where next_due_at is not null and registered_for is distinct from next_due_at and not disabled and not refresh_needed and deleted_at is null;   -- reconciler: what enters the horizon
create index channels_slots on channels (slot_incarnation) where slot_incarnation is not null;                        -- reconciler: slots of silent hosts

create table connect_states (
  state_hash bytea primary key,            -- SHA-256 of the OAuth state
  org_id uuid not null references organizations on delete cascade,
  user_id uuid not null references users on delete cascade,
  provider_id text not null,
  provider_version text not null,
  sealed text not null,                    -- sealed JSON: fields, app and PKCE verifier of this login
  refresh_channel_id uuid,
  return_url text,
  expires_at timestamptz not null
);
create index connect_states_expiry on connect_states (expires_at);

-- Media ---------------------------------------------------------------------------------------------------------------

create table files (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  name text not null,
  original_name text not null,
  storage_id text not null default 'local',
  storage_version text not null default 'v1',
  storage_key text not null,               -- where the bytes are: unguessable, below the org's folder
  thumbnail_key text,
  alt text not null default '',
  kind text not null,                      -- image, video, audio, document
  mime text not null,
  bytes bigint not null,
  width int,
  height int,
  duration_ms int,
  thumbnail_timestamp_ms int,              -- the moment of a film that a person chose as its cover
  folder text,
  listed boolean not null default true,    -- false: kept for a post, not shown in the library
  source_url text,                         -- of a copy that was fetched from outside for a post
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index files_of_org on files (org_id, created_at desc) where deleted_at is null and listed;
create unique index files_storage_key on files (storage_key);
create index files_copies on files (created_at) where not listed;                        -- the sweep of old copies, the latest copy of an address

-- Posts ---------------------------------------------------------------------------------------------------------------

create table tags (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  name text not null,
  color text not null default '#612AD5'
);
create unique index tags_name on tags (org_id, lower(name));

create table posts (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  channel_id uuid not null references channels on delete cascade,
  group_id text not null,
  parent_post_id uuid references posts on delete cascade,  -- the item of the thread before this one
  root_post_id uuid references posts on delete cascade,    -- the first item of the thread; null for a root
  seq bigint generated always as identity,
  state text not null,                     -- QUEUE, PUBLISHED, ERROR, DRAFT and no fifth (S100)
  detail text,                             -- S101
  error_kind text,
  error text,
  content text not null,
  media jsonb not null default '[]',       -- [{id, path, alt, thumbnail}]
  settings jsonb not null default '{}',
  title text,
  description text,
  delay_minutes int not null default 0,    -- after the item before it
  publish_date timestamptz not null,       -- the wish
  due_at timestamptz,                      -- the next attempt; null while a thread item waits for the one before it
  attempt int not null default 0,          -- of publishing, counted by the taking update
  attempts_failed int not null default 0,  -- counts towards giving up
  incarnation text,                        -- of the host that took it
  taken_at timestamptz,
  request_sent_at timestamptz,             -- written before the call where the network cannot be asked; elsewhere taken_at stands for it
  saved jsonb,                             -- what the adapter keeps over a lost answer: `{"value": …}`
  look_ups int not null default 0,
  look_up_at timestamptz,                  -- the next look-up or poll; its scan carries the Post's reminder
  release_id text,
  release_url text,
  released jsonb,                          -- what the adapter needs to reply to it
  published_at timestamptz,
  first_comment_posted_at timestamptz,
  interval_in_days int,
  tag_ids uuid[] not null default '{}',
  creation_method text not null default 'UNKNOWN',
  created_by uuid,
  version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  check (state in ('QUEUE', 'PUBLISHED', 'ERROR', 'DRAFT')),
  check (due_at >= publish_date)
);
create index posts_waiting on posts (channel_id, publish_date, seq) where state = 'QUEUE' and detail in ('scheduled', 'retrying') and due_at is not null and deleted_at is null;  -- the taking update; due_at is never before publish_date
create index posts_paused on posts (channel_id) where state = 'QUEUE' and detail = 'paused' and deleted_at is null;       -- a channel that works again
create index posts_calendar on posts (org_id, publish_date) where deleted_at is null and root_post_id is null;  -- GET /posts
create index posts_group on posts (org_id, group_id);
create index posts_thread on posts (root_post_id) where root_post_id is not null;
create index posts_parent on posts (parent_post_id) where parent_post_id is not null;      -- opens the next item of a thread
create index posts_unsettled on posts (look_up_at) where state = 'QUEUE' and detail in ('unconfirmed', 'processing');   -- reconciler: unfinished look-ups and polls

create table post_timeline (
  id bigint generated always as identity primary key,
  org_id uuid not null,
  post_id uuid not null references posts on delete cascade,
  at timestamptz not null default now(),
  kind text not null,                      -- S117
  message text not null,
  data jsonb
);
create index post_timeline_of_post on post_timeline (post_id, id);

create table idempotency_keys (
  org_id uuid not null references organizations on delete cascade,
  scope text not null,                     -- method and path
  key text not null,
  body_hash bytea not null,
  claim uuid not null,                     -- of the request that works on it
  claimed_until timestamptz not null,      -- after this a crashed request's key can be claimed again
  status int,                              -- null while the request is running
  reply text,                              -- the body, byte for byte
  created_at timestamptz not null default now(),
  primary key (org_id, scope, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);   -- deleted after 24 h

-- Outbox and webhooks ---------------------------------------------------------------------------------------------------

create table outbox (
  id bigint generated always as identity primary key,
  org_id uuid not null,
  topic text not null,                     -- post.published, post.failed, …
  entity_id uuid not null,
  payload jsonb not null default '{}',
  created_at timestamptz not null default now(),
  refused text                             -- why no consumer could take it; kept for people, the others go on
);  -- the relay reads in order of id and deletes what it has dealt out

create table webhooks (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  name text not null,
  url text not null,
  channel_ids uuid[] not null default '{}',
  events text[] not null default '{}',     -- empty: the specification's events (clients.md 5.4)
  secret text,                             -- sealed; only when asked for
  previous_secret text,                    -- sealed; signs beside the new one for 24 h
  secret_rotated_at timestamptz,
  last_seq bigint not null default 0,
  total bigint not null default 0,
  succeeded bigint not null default 0,
  failed bigint not null default 0,
  last_status int,
  last_error text,
  last_delivered_at timestamptz,
  consecutive_failures int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- the sending slot: one delivery of a webhook is on its way at a time
  slot_incarnation text,                   -- the host that sends
  slot_delivery_id uuid,
  slot_until timestamptz,
  due_at timestamptz                       -- the earliest attempt that waits; null: nothing waits
);
create index webhooks_of_org on webhooks (org_id, created_at) where deleted_at is null;
create index webhooks_due on webhooks (due_at) where due_at is not null and slot_incarnation is null and deleted_at is null;   -- reconciler: due and untouched
create index webhooks_slots on webhooks (slot_incarnation) where slot_incarnation is not null;                                 -- reconciler: slots of silent hosts

create table webhook_deliveries (
  id uuid primary key,                     -- one for each (event, webhook): the same on all attempts
  org_id uuid not null,
  webhook_id uuid not null references webhooks on delete cascade,
  outbox_id bigint,                        -- the event; null for pings
  seq bigint,                              -- in the order of the webhook's events; null for pings
  event text not null,
  body text not null,                      -- serialized once, sent as the same bytes each time
  state text not null default 'pending',   -- pending, succeeded, failed
  attempts int not null default 0,         -- recorded ones
  next_attempt_at timestamptz,
  created_at timestamptz not null default now(),   -- of the event
  check (state in ('pending', 'succeeded', 'failed'))
);
create index webhook_deliveries_age on webhook_deliveries (created_at) where state <> 'pending';                          -- deleted after 30 days
create unique index webhook_deliveries_once on webhook_deliveries (webhook_id, outbox_id) where outbox_id is not null;
create unique index webhook_deliveries_order on webhook_deliveries (webhook_id, seq) where seq is not null;               -- GET /webhooks/:id/events
create index webhook_deliveries_first on webhook_deliveries (webhook_id, seq) where state = 'pending' and attempts = 0;    -- the next first attempt of one webhook
create index webhook_deliveries_retries on webhook_deliveries (webhook_id, next_attempt_at) where state = 'pending' and attempts > 0;   -- its next retry

create table webhook_attempts (
  id uuid primary key,
  org_id uuid not null,
  webhook_id uuid not null references webhooks on delete cascade,
  delivery_id uuid not null,               -- no reference: each is deleted by its own age, and nothing is looked up for it
  attempt int not null,
  status int not null,                     -- 0: no answer
  error text,
  duration_ms int not null,
  at timestamptz not null default now()
);
create index webhook_attempts_of_webhook on webhook_attempts (webhook_id, id desc);   -- GET /webhooks/:id/deliveries

-- Actors --------------------------------------------------------------------------------------------------------------

create table actor_hosts (
  incarnation text primary key,            -- one for each start of a process
  engine text not null,
  address text not null,
  types text[] not null,
  active jsonb not null default '{}',      -- {type: count}
  mailboxes jsonb not null default '{}',   -- {type: {queued, longest}}
  started_at timestamptz not null default now(),
  last_beat timestamptz not null default now()
);

create table actor_reminders (             -- of the embedded engine
  type text not null,
  id text not null,
  name text not null,
  due_at timestamptz not null,
  owner text,
  data json,                               -- as it was given; jsonb would refuse U+0000
  version uuid not null,                   -- a new one with each registration
  primary key (type, id, name)
);
create index actor_reminders_due on actor_reminders (due_at);

create table actor_states (                -- of the embedded engine
  type text not null,
  id text not null,
  doc json not null,
  primary key (type, id)
);

create table leases (
  name text primary key,                   -- relay, reconciler, …
  holder text not null,
  expires_at timestamptz not null
);

create table cron_runs (                   -- the periodic sweeps
  name text primary key,
  last_run_at timestamptz,                 -- when it began; null: not yet
  last_status text,                        -- ok, failed
  last_duration_ms int,
  last_changed int                         -- rows that it deleted
);

create table lateness (                    -- how late posts went out: a row a minute and host, for the last hour's percentiles
  minute timestamptz not null,
  incarnation text not null,
  buckets int[] not null,                  -- counts by the bounds in src/publishing/posts/lateness.ts
  primary key (minute, incarnation)
);

-- The sandbox network -----------------------------------------------------------------------------------------------------

create table sandbox_ledger (
  seq bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  account text not null,                   -- the channel's account at the sandbox
  post_id text,                            -- the network's id of what it accepted
  step text not null,
  text text not null default '',
  media jsonb not null default '[]',
  reply_to text,                           -- the post_id that it answers to
  idempotency_key text,
  accepted boolean not null,
  answered text not null                   -- what it did: ok, repeated, rate_limited, error, …
);
create index sandbox_ledger_of_account on sandbox_ledger (account, seq);
create unique index sandbox_ledger_once on sandbox_ledger (account, idempotency_key) where accepted;   -- a key is accepted once; also finds by key
create index sandbox_ledger_posts on sandbox_ledger (post_id) where accepted;
