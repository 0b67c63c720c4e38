-- Roles of an org's own. A membership names one by its id in role_key.

create table roles (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  name text not null,
  permissions text[] not null default '{}',   -- `resource:action`
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index roles_name on roles (org_id, lower(name));   -- GET /roles, and no two of one name
