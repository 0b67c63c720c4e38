-- Networks that answer nobody: while a row is here, none of their posts goes out but one that tries again now and then.

create table circuits (
  provider_id text not null,
  provider_version text not null,
  lane text not null,                              -- network, origin and route
  opened_at timestamptz not null default now(),
  failed_probes integer not null default 0,
  probe_at timestamptz not null,                   -- from then on one post may try
  probing_until timestamptz,                       -- one does; over when its host has died
  primary key (provider_id, provider_version, lane)
);
create index circuits_probe on circuits (probe_at); -- those that no post asks for any more are deleted
