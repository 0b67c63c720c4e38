-- What is known of providers beside their adapters: which are shown first, and how their calls end.

create table featured_providers (
  domain text not null,
  provider_id text not null,
  sort_order int not null,                 -- within the domain
  seeded boolean not null default false,   -- set again at each start
  primary key (domain, provider_id)        -- whatever the version
);

-- Counted in each process and added up here every few seconds.
create table provider_health (
  domain text not null,
  provider_id text not null,
  provider_version text not null,
  success_count bigint not null default 0,
  error_count bigint not null default 0,
  consecutive_errors bigint not null default 0,   -- since the last success that any process noted
  last_success_at timestamptz,
  last_error_at timestamptz,
  primary key (domain, provider_id, provider_version)
);
