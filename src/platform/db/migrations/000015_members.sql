-- Invitations into an org. One that is used, withdrawn or replaced is deleted, so that its token leads nowhere.

create table invitations (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  email text not null,                     -- the address that may join; compared without regard to case
  role_key text not null,                  -- a system role's key, or the id of a row of `roles`
  token_hash bytea not null,               -- SHA-256 of what the link carries
  invited_by uuid not null references users on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '7 days'
);
create unique index invitations_token on invitations (token_hash);                    -- POST /user/join-org
create unique index invitations_address on invitations (org_id, lower(email));        -- GET /members/invitations, and one for each address
create index invitations_expiry on invitations (expires_at);                          -- the sweep

create index memberships_of_role on memberships (org_id, role_key);                   -- who has a role: its deletion, the last owner

alter table files add column created_by uuid;   -- who may change it without being let change all; null: kept by the service, or from before this was written down
