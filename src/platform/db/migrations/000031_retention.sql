-- What is forgotten by age: deleted posts and orgs, and from where users came.

create index posts_deleted on posts (deleted_at) where deleted_at is not null;                                  -- the sweep
create index organizations_deleted on organizations (deleted_at) where deleted_at is not null;                  -- the sweep
create index users_traces on users (created_at) where ip is not null or agent is not null;                      -- the sweep
create index sessions_traces on sessions (last_used_at) where ip <> '' or user_agent <> '';                     -- the sweep

-- A code that was used stays used when its org is gone.
alter table lifetime_codes
  alter column org_id drop not null,
  drop constraint lifetime_codes_org_id_fkey,
  add constraint lifetime_codes_org_id_fkey foreign key (org_id) references organizations on delete set null;
create index lifetime_codes_of_org on lifetime_codes (org_id) where org_id is not null;                         -- an org that goes
