-- What organizations may spend at providers of AI and media, and what they spent. Amounts are millionths of a US dollar.

create table ai_budgets (
  org_id uuid primary key references organizations on delete cascade,
  monthly_cents integer,                   -- over all providers; null: no cap
  daily_cents integer,
  providers jsonb not null default '[]',   -- caps of single providers: [{domain, providerId, monthlyCents, dailyCents}]
  alert_percents integer[] not null default '{50,80,100}',
  updated_at timestamptz not null default now()
);

-- Every movement of money, only added to. A call is `reservation`, then `release` of the same amount, and where it cost
-- something `settlement`; what is learned later is a `correction`. The balance of a window is the sum of its rows.
create table ai_ledger (
  org_id uuid not null references organizations on delete cascade,
  ref uuid not null,                       -- the call or job
  kind text not null,
  domain text not null,
  provider_id text not null,
  user_id uuid,                            -- who asked
  micros bigint not null,
  source text,                             -- where the amount comes from; null: nobody knows a price
  told text,                               -- what the provider said it cost, where that makes no sense
  marked boolean not null default false,   -- the amount is not what the provider is known to charge
  day date not null,                       -- of the reservation, UTC: it says to which windows the row belongs
  at timestamptz not null default now(),
  primary key (org_id, ref, kind)
);

-- Calls under way, each with what is reserved for it.
create table ai_reservations (
  org_id uuid not null references organizations on delete cascade,
  ref uuid not null,
  domain text not null,
  provider_id text not null,
  user_id uuid,
  micros bigint not null,
  source text,                             -- null: the model has no price
  day date not null,
  until timestamptz not null,              -- afterwards nobody works on it any more
  primary key (org_id, ref)
);
create index ai_reservations_until on ai_reservations (until);   -- sweep: the process of a call has died

-- The sums of the ledger by window. Domain and provider are empty in the row over all providers.
create table ai_spend (
  org_id uuid not null references organizations on delete cascade,
  domain text not null,
  provider_id text not null,
  period text not null,                    -- day, month
  starts date not null,
  spent bigint not null default 0,         -- settlements and corrections
  reserved bigint not null default 0,      -- reservations and releases
  alerted integer not null default 0,      -- the greatest percentage that was announced in this window
  primary key (org_id, domain, provider_id, period, starts)
);

-- As the audit log: rows go with their organization (its cascade is a trigger, so this one runs within it).
-- Whoever must change rows all the same says so in the transaction: set_config('rookery.ai_ledger', 'change', true).
create function refuse_ledger_change() returns trigger language plpgsql as $$
begin
  if pg_trigger_depth() > 1 or current_setting('rookery.ai_ledger', true) = 'change' then
    return null;
  end if;
  raise exception 'The ledger of AI is only added to' using errcode = 'insufficient_privilege';
end
$$;
create trigger ai_ledger_is_kept before update or delete on ai_ledger
  for each statement execute function refuse_ledger_change();
