-- The media library: which storage holds a file, uploads that come in parts, bytes that are to go.

alter table files
  add column storage_setting_id uuid references provider_settings,  -- whose settings reach the storage; null: the local one
  add column own_storage boolean not null default false,            -- the org brought the storage: its bytes count against no limit
  add column codecs text[] not null default '{}',                   -- of a film or sound, as ffprobe calls them
  add column withdrawn boolean not null default false;              -- deleted although queued posts needed it: nothing publishes it any more
create index files_storage_setting on files (storage_setting_id) where storage_setting_id is not null;   -- whether a setting may be deleted
create index files_thumbnail on files (thumbnail_key) where thumbnail_key is not null;                     -- serving; who shows a picture that goes
create index files_deleted on files (deleted_at) where deleted_at is not null;                            -- the sweep

-- Not counted: a deleted file, one in storage that the org brought, and a copy that was fetched to publish a post.
create or replace function counted_bytes(file files) returns bigint language sql immutable as $$
  select case when file.deleted_at is null and file.source_url is null and not file.own_storage then file.bytes else 0 end
$$;

alter table org_counters add column local_bytes bigint not null default 0;   -- of `storage_bytes`, what lies in the local storage (soft quota)
create or replace function count_storage() returns trigger language plpgsql as $$
declare
  more bigint := 0;
  local_more bigint := 0;
begin
  if tg_op <> 'DELETE' then
    more := counted_bytes(new);
    local_more := case new.storage_id when 'local' then more else 0 end;
  end if;
  if tg_op <> 'INSERT' then
    more := more - counted_bytes(old);
    local_more := local_more - case old.storage_id when 'local' then counted_bytes(old) else 0 end;
  end if;
  if more <> 0 then
    insert into org_counters (org_id, storage_bytes, local_bytes)
    select id, more, local_more from organizations where id = coalesce(new.org_id, old.org_id)   -- an org that is going takes its counters with it
    on conflict (org_id) do update set storage_bytes = org_counters.storage_bytes + more, local_bytes = org_counters.local_bytes + local_more;
  end if;
  return null;
end $$;
update org_counters c set local_bytes = c.storage_bytes;   -- there was no other storage

-- An upload that comes in parts; gone when it has become a file or was given up.
create table media_uploads (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  created_by uuid not null references users on delete cascade,
  name text not null,
  file_hash text,                          -- what the client knows the file by, to go on with it later
  bytes bigint not null,                   -- of the whole, as announced
  mime text not null,                      -- as announced; the content decides in the end
  storage_id text not null,
  storage_version text not null,
  storage_setting_id uuid references provider_settings on delete cascade,
  own_storage boolean not null,
  storage_key text not null,
  provider_upload_id text not null,        -- of the storage
  held_until timestamptz,                  -- somebody completes it, or gives it up, until then
  created_at timestamptz not null default now()
);
create index media_uploads_of_org on media_uploads (org_id, created_at);   -- how many are open, and one to go on with
create index media_uploads_age on media_uploads (created_at);              -- the sweep

-- Objects that no row names any more, or none yet: written down before the bytes, crossed out by the commit of the file.
create table media_remains (
  storage_key text primary key,
  org_id uuid not null,                    -- no reference: the bytes of an org that is gone go, too
  storage_id text not null,
  storage_setting_id uuid,
  own_storage boolean not null,
  due_at timestamptz not null,
  tries int not null default 0
);
create index media_remains_due on media_remains (due_at);   -- the sweep

-- Whoever deletes the row of a file, or gives it another thumbnail, leaves the bytes to the sweep. A picture of the library that others show stays theirs.
create function leave_remains() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into media_remains (storage_key, org_id, storage_id, storage_setting_id, own_storage, due_at)
    values (old.storage_key, old.org_id, old.storage_id, old.storage_setting_id, old.own_storage, now()) on conflict do nothing;
    update files set thumbnail_key = null where thumbnail_key = old.storage_key;
  end if;
  if old.thumbnail_key is not null and not exists (select from files where storage_key = old.thumbnail_key or thumbnail_key = old.thumbnail_key) then
    insert into media_remains (storage_key, org_id, storage_id, storage_setting_id, own_storage, due_at)
    values (old.thumbnail_key, old.org_id, old.storage_id, old.storage_setting_id, old.own_storage, now()) on conflict do nothing;
  end if;
  return null;
end $$;
create trigger files_leave_remains after delete on files for each row execute function leave_remains();
create trigger files_leave_thumbnail after update of thumbnail_key on files for each row
  when (old.thumbnail_key is distinct from new.thumbnail_key) execute function leave_remains();
