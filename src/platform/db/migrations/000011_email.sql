-- The mail log, and the queue that mail leaves by.

create table emails (
  id uuid primary key,                     -- the left side of its Message-ID
  org_id uuid references organizations on delete set null,
  to_address text not null,
  template text not null,
  letter text,                             -- sealed JSON: what it says, with its links; gone once it was sent or given up
  status text not null default 'queued',
  provider_id text not null,
  provider_version text not null,
  provider_message_id text,                -- by which the provider's delivery events name it
  attempts int not null default 0,
  next_attempt_at timestamptz default now(),   -- while an attempt is under way: when it counts as crashed
  last_error text,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  check (status in ('queued', 'sent', 'delivered', 'bounced', 'complained', 'opened', 'clicked')),
  check ((status = 'queued') = (letter is not null and next_attempt_at is not null))
);
create index emails_due on emails (next_attempt_at) where status = 'queued';   -- the sender
create index emails_by_status on emails (status, id desc);                     -- GET /admin/emails?status
create index emails_age on emails (created_at);                                -- the sweep
