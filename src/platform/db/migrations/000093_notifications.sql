-- What people are told in the application: a row for each person and fact.

create table notifications (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  user_id uuid not null references users on delete cascade,
  source text not null,                    -- the fact or the act that it tells of
  category text not null,
  title text not null,
  content text not null,
  link text,                               -- a path of the console
  data jsonb not null default '{}',
  read_at timestamptz,
  created_at timestamptz not null default now(),
  seq bigint not null generated always as identity   -- of one batch of facts, too, in their order
);
create unique index notifications_source on notifications (user_id, source);                          -- nobody is told twice
create index notifications_of_member on notifications (org_id, user_id, seq desc);                     -- GET /notifications/list
create index notifications_unread on notifications (org_id, user_id, seq desc) where read_at is null;  -- GET /notifications
create index notifications_age on notifications (created_at);                                          -- the sweep
