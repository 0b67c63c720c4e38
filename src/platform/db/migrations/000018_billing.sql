-- What an org pays for, and what the payment processor said. Money facts are rows with unique keys: applied twice or out of order they change nothing.

-- The plan of an org; the row goes with the subscription (BI28). Limit overrides live with the org and stay.
create table subscriptions (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  tier text not null,
  period text not null,
  identifier text not null,                -- `metadata.uniqueId` of the checkout it came from; the code's `jti` for lifetime
  processor_id text,                       -- the subscription at the processor; null for lifetime
  total_channels int not null,             -- of the plan, without packs
  extra_storage int not null default 0,    -- packs, as all `extra_*`
  extra_video_exports int not null default 0,
  extra_channels int not null default 0,
  extra_team_seats int not null default 0,
  extra_posts int not null default 0,
  extra_brand_kits int not null default 0,
  extra_webhooks int not null default 0,
  extra_competitors int not null default 0,
  pending_tier text,                       -- a lower plan from the next paid invoice on
  pending_from timestamptz,                -- by the processor's clock: an invoice made before is of the period that still runs
  grace_period_end timestamptz,            -- a payment failed; after this the org counts as without a subscription (S80)
  grace_notices int not null default 0,    -- of days 0, 3 and 6
  grace_due_at timestamptz,                -- the next notice, then the end
  lapsed boolean not null default false,   -- the end of the grace period was carried out: queued posts are paused
  is_lifetime boolean not null default false,
  is_trial boolean not null default false,
  trial_ends_at timestamptz,
  cancel_at timestamptz,
  feedback_at timestamptz,                 -- the operator was told why it is cancelled
  current_period_end timestamptz,
  created_at timestamptz not null default now(),   -- anchors the monthly window
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,                  -- exists by the interface; nothing sets it
  check (tier in ('STARTER', 'PRO', 'TEAM', 'AGENCY')),
  check (period in ('MONTHLY', 'YEARLY'))
);
create unique index subscriptions_of_org on subscriptions (org_id);                                      -- one for each org, every read
create index subscriptions_grace on subscriptions (grace_due_at) where grace_due_at is not null;         -- the sweep of notices and ends
create index subscriptions_trial on subscriptions (trial_ends_at) where is_trial;                         -- the sweep of trials that should be over

create table payment_customers (
  org_id uuid primary key references organizations on delete cascade,
  customer_id text not null,
  created_at timestamptz not null default now()
);
create unique index payment_customers_id on payment_customers (customer_id);                             -- from an invoice to its org

-- Every subscription at the processor that was ever heard of, ended ones included: an old event cannot bring one back.
create table payment_subscriptions (
  id text primary key,                     -- at the processor
  org_id uuid not null references organizations on delete cascade,
  addon text,                              -- the dimension of a pack; null for a plan
  packs int not null default 0,
  cancel_at timestamptz,
  started_at timestamptz not null,         -- by the processor's clock: of two plans of an org the one begun later stays
  last_event_at timestamptz,               -- of the last event that was applied, by the processor's clock
  changed_at timestamptz,                  -- of the last change that we asked for, by the same clock: older events are checked against the processor
  version int not null default 0,          -- grows with every write
  ended_at timestamptz,
  created_at timestamptz not null default now()
);
create index payment_subscriptions_of_org on payment_subscriptions (org_id) where ended_at is null;      -- the org's plan and packs

create table payment_events (
  id text primary key,                     -- the processor's: each is applied once (BI51)
  type text not null,
  org_id uuid references organizations on delete cascade,
  subscription_id text,
  outcome text not null,                   -- `applied`, or why not
  created_at timestamptz not null,         -- by the processor's clock
  received_at timestamptz not null default now()
);
create index payment_events_of_org on payment_events (org_id, created_at desc) where org_id is not null; -- an operator reads a customer's history

-- One row for each intent to buy: its id is the key under which the processor does it once, and `metadata.uniqueId`.
create table payment_checkouts (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  user_id uuid not null,
  item text not null,                      -- a tier, or the dimension of a pack
  period text not null,
  packs int not null default 0,
  trial boolean not null default false,
  session_id text,
  url text,
  created_at timestamptz not null default now(),
  done_at timestamptz,                     -- the subscription arrived
  dropped_at timestamptz                   -- another one took its place, or it expired
);
create index payment_checkouts_open on payment_checkouts (org_id, created_at) where done_at is null and dropped_at is null;   -- the open ones of an org; the sweep

-- What the processor must be told because of a commit; done after it, again until it worked.
create table payment_tasks (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  kind text not null,                      -- `cancel`, `settle`, `sync`
  subscription_id text not null,
  data jsonb not null default '{}',
  attempts int not null default 0,
  due_at timestamptz not null default now(),
  last_error text,
  created_at timestamptz not null default now()
);
create index payment_tasks_due on payment_tasks (due_at);                                                -- the sweep
create unique index payment_tasks_once on payment_tasks (subscription_id, kind);                         -- one of a kind waits for a subscription

-- Codes that were used, in plain text (BI10).
create table lifetime_codes (
  jti text primary key,
  code text not null,
  org_id uuid not null references organizations on delete cascade,
  user_id uuid,
  used_at timestamptz not null default now()
);
