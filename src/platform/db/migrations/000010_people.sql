-- What proves an address, and users who are gone.

-- Codes that mails carry. Each works once and is then deleted; of the code itself only the hash is kept.
create table one_time_codes (
  code_hash bytea primary key,             -- SHA-256
  kind text not null,                      -- activate, reset, email: a code of one kind is none of another (S28)
  user_id uuid not null references users on delete cascade,
  password_hash text,                      -- of `activate`: the password of the registration that the mail belongs to
  email text,                              -- of `email`: the address that becomes the user's
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index one_time_codes_of_user on one_time_codes (user_id);           -- those that die with a use, a new password, a deletion
create index one_time_codes_expiry on one_time_codes (expires_at);         -- the sweep

-- Somebody asked for a mail to an address. Written alike for addresses that have a user and for those that have none; worked off behind the answer.
create table mail_requests (
  id uuid primary key,                     -- in order of time
  kind text not null,                      -- activate, reset
  email text not null,
  ip text not null
);

-- A user who is gone keeps the row for 30 days, but neither the address nor the account at the provider.
drop index users_email_provider;
create unique index users_email_provider on users (lower(email), provider_name) where deleted_at is null;   -- US2, logins
drop index users_provider_account;
create unique index users_provider_account on users (provider_name, provider_id) where deleted_at is null;  -- logins by provider (S38)
create index users_deleted on users (deleted_at) where deleted_at is not null;                               -- the sweep
create index sessions_ended on sessions ((least(expires_at, revoked_at)));                                   -- the sweep
