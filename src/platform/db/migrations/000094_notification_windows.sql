-- Notices that leave together: what follows the first mail of a category, what waits for the end of quiet hours, digests.

create table notification_windows (
  user_id uuid not null references users on delete cascade,
  kind text not null,                      -- `burst <org> <category>`, `quiet`, `quiet-push`, `digest`
  due_at timestamptz not null,             -- then it is closed, and its lines leave as one
  primary key (user_id, kind)
);
create index notification_windows_due on notification_windows (due_at);   -- the sweep

create table notification_lines (
  seq bigint primary key generated always as identity,
  user_id uuid not null,
  kind text not null,
  org_id uuid not null references organizations on delete cascade,
  category text not null,
  title text not null,
  content text not null,
  link text,
  foreign key (user_id, kind) references notification_windows on delete cascade
);
create index notification_lines_of_window on notification_lines (user_id, kind, seq);   -- a window is closed
create index notification_lines_of_org on notification_lines (org_id);                 -- an organization is deleted

create index emails_undeliverable on emails (lower(to_address)) where status in ('bounced', 'complained') and sent_at is not null;   -- whether an address takes mail
