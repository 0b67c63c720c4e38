-- Bodies that were judged together and wait to be created together; an hour long.

create table post_plans (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  items text not null,                     -- JSON: of each valid row its body, of each other one its faults
  created_at timestamptz not null default now()
);
create index post_plans_of_org on post_plans (org_id, created_at);   -- the latest plans of an organization
create index post_plans_age on post_plans (created_at);              -- sweep: old ones
