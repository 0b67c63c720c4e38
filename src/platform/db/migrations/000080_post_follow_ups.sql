-- What follows a publication: first comments, and what plugs do. A row for each post, kind and key, written before its
-- network is called.

create table post_follow_ups (
  id uuid primary key default gen_random_uuid(),  -- our id at the network, the same on every attempt
  org_id uuid not null,
  post_id uuid not null references posts on delete cascade,   -- the first item of its thread
  kind text not null,                      -- first_comment, post_plug, auto_plug
  key text not null default '',            -- tells apart those of one kind: of a post plug itself and its channel, of an auto plug its configuration
  plug text,                               -- the identifier of the plug
  channel_id uuid not null,                -- acts; no reference: it may be gone, which is told then
  state text not null default 'waiting',   -- none: the network has no such thing; ended: the post or the configuration is gone
  attempt int not null default 0,
  attempts_failed int not null default 0,
  incarnation text,                        -- the host that works on it; null: none does
  claimed_at timestamptz,                  -- of the attempt
  request_sent_at timestamptz,             -- only of networks that cannot be asked afterwards
  lost_at timestamptz,                     -- since when the answer of the attempt is missing
  look_ups int not null default 0,
  saved jsonb,                             -- what the adapter wants to find again
  due_at timestamptz,                      -- the next step; of a claimed row the end of its claim; null: it is over
  login_until timestamptz,                 -- waits for a new login of its channel until then
  error text,
  release_id text,
  release_url text,
  done_at timestamptz,
  created_at timestamptz not null default now(),
  check (state in ('waiting', 'sending', 'unconfirmed', 'done', 'failed', 'none', 'ended'))
);
create unique index post_follow_ups_once on post_follow_ups (post_id, kind, key);                                           -- those of a post
create index post_follow_ups_due on post_follow_ups (due_at) where due_at is not null;                                      -- reconciler: due and untouched
create index post_follow_ups_held on post_follow_ups (incarnation) where incarnation is not null;                           -- reconciler: those of silent hosts
create index post_follow_ups_login on post_follow_ups (channel_id) where state = 'waiting' and login_until is not null;     -- reconciler: those whose channel was logged in
