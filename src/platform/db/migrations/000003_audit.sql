-- Who did what to keys, roles, members, apps, channels, billing and secrets, from where. Rows are only added, and deleted by age.

create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  org_id uuid references organizations on delete cascade,   -- null: an act on the whole instance
  user_id uuid,                                             -- null: nobody was logged in, or a program did it
  impersonator_id uuid,                                     -- the super-admin who acted as the user
  ip text,
  action text not null,                                     -- `api_key.created`
  resource text not null,                                   -- of the 18 resources, or `user`, `session`, `instance`
  resource_id text,
  detail jsonb not null default '{}'                        -- never a secret
);
create index audit_log_of_org on audit_log (org_id, id desc);   -- GET /settings/audit
create index audit_log_age on audit_log (at);                   -- the sweep
