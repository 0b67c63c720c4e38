-- Erasure at once: organizations that do not wait for their 30 days, and receipts of what was erased.

alter table organizations add column erased boolean not null default false;   -- it goes as soon as the payment processor was told

create table erasures (
  id uuid primary key,
  kind text not null check (kind in ('user', 'org')),
  subject_hash bytea not null,             -- SHA-256 of the id of who was erased: nothing here names them
  by_user uuid not null,                   -- the super-admin
  reason text not null,
  counts jsonb not null,                   -- rows and objects
  created_at timestamptz not null default now()
);
create unique index erasures_of_subject on erasures (subject_hash);   -- an erasure is repeated
