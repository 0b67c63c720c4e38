-- What was typed at a registration is kept apart from the user until the address is proven, and counts only in the browser in which it was typed.

create table registrations (
  user_id uuid not null references users on delete cascade,
  browser_hash bytea not null,             -- SHA-256 of the cookie `registration`
  password_hash text not null,
  name text not null,
  company text not null,
  timezone text not null,
  created_at timestamptz not null default now(),
  primary key (user_id, browser_hash)      -- the activation
);
create index registrations_age on registrations (created_at);                                                        -- the sweep

-- Named by the holder of the setup token, or by who set up this machine: super-admin at the activation, while there is none.
alter table users add column becomes_super_admin boolean not null default false;
create index users_super_admins on users (id) where is_super_admin;                                                   -- whether there is one
create index users_pending on users (created_at) where not activated and locked_at is null and deleted_at is null;    -- the sweep

-- Of whom nobody knows yet whether they have the mailbox: the password goes with the mail's code until this release runs everywhere.
update users set password_hash = null where not activated and locked_at is null and provider_name = 'local';
