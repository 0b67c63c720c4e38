-- Settings of providers, and logins by a provider that have begun.

create table provider_settings (
  id uuid primary key,
  org_id uuid references organizations on delete cascade,   -- null: of the whole instance
  domain text not null,
  provider_id text not null,
  provider_version text not null,          -- pinned when the row was written; changed by an upgrade only
  name text not null,
  is_default boolean not null default false,
  enabled boolean not null default true,
  options jsonb not null default '{}',     -- fields that are no secrets
  credentials text not null,               -- sealed: secret fields as one JSON object
  last_test_at timestamptz,
  last_test_ok boolean,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index provider_settings_default on provider_settings (coalesce(org_id, '00000000-0000-0000-0000-000000000000'), domain) where is_default;   -- one default of a domain for each owner
create index provider_settings_of_owner on provider_settings (org_id, domain, created_at);   -- the list of an owner, and what a provider is used with

-- What a login has left behind until it ends. Each row is used once.
create table login_states (
  hash bytea primary key,                  -- SHA-256 of the state, the nonce or the token that only the browser knows
  kind text not null,                      -- `consent`: at the provider; `nonce`: to be signed by a wallet; `account`: known, to be registered
  browser_hash bytea not null,             -- SHA-256 of the cookie that it is bound to
  provider_id text not null,
  sealed text not null,                    -- sealed: what is to be remembered of it, by kind
  expires_at timestamptz not null
);
create index login_states_age on login_states (expires_at);   -- the sweep
