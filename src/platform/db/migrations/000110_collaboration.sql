-- Documents that people write together, and the versions of them that are kept.

create table collaboration_documents (
  org_id uuid not null references organizations on delete cascade,
  room text not null,                      -- `post:<id>` or `group:<group>`: no key, for items of a thread are written anew under their ids
  state bytea not null,                    -- merged updates of Yjs
  version int not null default 1,          -- counts the writes of `state`
  agreed jsonb not null,                   -- what document and post said when they agreed last
  recent text[] not null default '{}',     -- hashes of contents that were about to be saved to the post, the newest first
  writer text not null,                    -- the start of a process that wrote it last
  typed_by uuid[] not null default '{}',   -- users who have typed since the last version
  checked_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, room)
);
create index collaboration_documents_checked on collaboration_documents (checked_at);   -- the sweep

create table collaboration_versions (
  id uuid primary key,
  org_id uuid not null,
  room text not null,
  label text,
  reason text not null,                    -- session, manual, restore, foreign_edit, too_late
  contents jsonb not null,                 -- {content, settings, media}
  authors uuid[] not null default '{}',
  created_at timestamptz not null default now(),
  foreign key (org_id, room) references collaboration_documents on delete cascade
);
create index collaboration_versions_of_document on collaboration_versions (org_id, room, id);   -- the versions of a document
create index collaboration_versions_age on collaboration_versions (created_at);                 -- the sweep
