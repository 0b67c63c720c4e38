-- The OAuth 2.0 server: apps, what users approved, codes and tokens. Of every secret only its SHA-256 is kept.

create table oauth_clients (
  id uuid primary key,
  org_id uuid references organizations on delete cascade,   -- null: it registered itself (RFC 7591)
  client_id text not null,                 -- `pca_…` of an org's app, `pcd_…` of one that registered itself
  secret_hash bytea,                       -- null: a public client, which proves itself by PKCE
  name text not null,
  description text not null default '',
  picture_id uuid references files on delete set null,
  redirect_uris text[] not null,
  scope text[] not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index oauth_clients_client_id on oauth_clients (client_id);                              -- authorize, token
create unique index oauth_clients_of_org on oauth_clients (org_id) where org_id is not null;           -- one app of each org
create index oauth_clients_registered on oauth_clients (created_at) where org_id is null;              -- the sweep of those nobody used

-- A user lets an app act for them in one org. It ends with the membership, the app, the org or the user.
create table oauth_authorizations (
  id uuid primary key,
  org_id uuid not null,
  user_id uuid not null,
  app_id uuid not null references oauth_clients on delete cascade,
  scope text[] not null,                   -- as approved last; earlier tokens keep theirs
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  foreign key (org_id, user_id) references memberships on delete cascade
);
create unique index oauth_authorizations_of_user on oauth_authorizations (org_id, user_id, app_id);    -- GET /user/approved-apps, a second approval
create index oauth_authorizations_of_app on oauth_authorizations (app_id);                             -- what goes with an app

create table oauth_codes (
  code_hash bytea primary key,
  org_id uuid not null,
  authorization_id uuid not null references oauth_authorizations on delete cascade,
  redirect_uri text not null,
  redirect_named boolean not null,         -- the request named it, so that the exchange must name it too
  challenge text,                          -- S256
  scope text[] not null,
  resource text,
  expires_at timestamptz not null,
  used_at timestamptz                      -- any use after this is a theft: what the code produced is revoked
);
create index oauth_codes_of_authorization on oauth_codes (authorization_id);                           -- what goes with an authorization
create index oauth_codes_age on oauth_codes (expires_at);                                              -- the sweep

-- One row for each pair of tokens. A refresh makes the next pair of the same code.
create table oauth_tokens (
  id uuid primary key,
  org_id uuid not null,
  authorization_id uuid not null references oauth_authorizations on delete cascade,
  code_hash bytea not null,                -- the code that it all comes from
  access_hash bytea not null,
  access_expires_at timestamptz not null,
  refresh_hash bytea not null,
  refresh_expires_at timestamptz not null,
  refreshed_at timestamptz,                -- any use of the refresh token after this is a theft: everything of the authorization is revoked
  revoked_at timestamptz,
  scope text[] not null,                   -- of the access token
  refresh_scope text[] not null,           -- as granted: the most that a refresh may ask for
  resource text,                           -- the only surface that takes it, such as `mcp`; null: all of them
  created_at timestamptz not null default now()
);
create unique index oauth_tokens_access on oauth_tokens (access_hash);                                 -- authentication
create unique index oauth_tokens_refresh on oauth_tokens (refresh_hash);                               -- refresh
create index oauth_tokens_of_authorization on oauth_tokens (authorization_id);                         -- revocation of all
create index oauth_tokens_of_code on oauth_tokens (code_hash);                                         -- a code used twice
create index oauth_tokens_age on oauth_tokens (refresh_expires_at);                                    -- the sweep

-- A program on a device without a browser waits for a person to type its code in elsewhere.
create table oauth_devices (
  id uuid primary key,
  device_hash bytea not null,
  user_hash bytea not null,
  org_id uuid,                             -- of the decision
  user_id uuid,
  decision text,                           -- approved, denied; null: nobody has decided
  interval_seconds int not null,           -- grows when it asks too fast
  asked_at timestamptz not null default now(),
  claim uuid,                              -- of the request that makes its key
  expires_at timestamptz not null,
  foreign key (org_id, user_id) references memberships on delete cascade,
  check (decision in ('approved', 'denied'))
);
create unique index oauth_devices_device on oauth_devices (device_hash);                               -- POST /device/token
create unique index oauth_devices_user on oauth_devices (user_hash);                                   -- POST /device/approve
create index oauth_devices_age on oauth_devices (expires_at);                                          -- the sweep
create index oauth_devices_of_member on oauth_devices (org_id, user_id) where org_id is not null;      -- what goes with a membership
