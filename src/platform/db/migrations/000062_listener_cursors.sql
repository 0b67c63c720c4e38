-- Listeners of facts, each with a place of its own in the outbox. What one of them cannot hear is set aside for it alone, so
-- outbox.refused is written by no release from this one on.

alter table outbox add column txid xid8 not null default pg_current_xact_id();   -- of the transaction that announced the fact
alter table outbox drop constraint outbox_pkey, add primary key (txid, id);      -- a listener's next facts; deleting what all have heard

-- A listener has heard every fact of transactions below `since`, and those below `until` whose id is at most `id`.
create table outbox_cursors (
  listener text primary key,
  since xid8 not null default '0',
  until xid8 not null default '0',         -- was below every running transaction when it was written
  id bigint not null default 0
);

-- Facts that a listener could not hear, for people.
create table outbox_refused (
  listener text not null,
  id bigint not null,
  org_id uuid not null,
  topic text not null,
  entity_id uuid not null,
  payload jsonb not null,
  created_at timestamptz not null,         -- of the fact
  error text not null,
  refused_at timestamptz not null default now(),
  primary key (listener, id)
);
