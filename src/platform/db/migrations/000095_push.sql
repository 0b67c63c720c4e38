-- Push: the devices of people, and what waits to be sent to them.

create table push_tokens (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  session_id uuid not null references sessions on delete cascade,   -- that registered it: its end is that of the token
  token text not null,
  token_hash bytea not null,               -- SHA-256: a token may be longer than an entry of an index
  platform text not null check (platform in ('ios', 'android', 'web')),
  device_name text,
  disabled_at timestamptz,                 -- the push service knows it no more
  registered_at timestamptz not null default now()
);
create unique index push_tokens_token on push_tokens (token_hash);                     -- nobody else may register it
create index push_tokens_of_user on push_tokens (user_id, registered_at desc);        -- whom a push goes to
create index push_tokens_of_session on push_tokens (session_id);                      -- a session is deleted

create table pushes (
  id uuid primary key,
  token_id uuid not null references push_tokens on delete cascade,
  category text not null,
  title text not null,
  content text not null,
  link text,
  attempts int not null default 0,
  next_attempt_at timestamptz not null default now(),   -- while an attempt is under way: when it counts as crashed
  created_at timestamptz not null default now()
);
create index pushes_due on pushes (next_attempt_at);        -- the sender
create index pushes_age on pushes (created_at);             -- the sweep
create index pushes_of_token on pushes (token_id);          -- a token is deleted
