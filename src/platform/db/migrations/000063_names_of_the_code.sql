-- Columns and tables by the terms of the code: heartbeat, content of a mail, version of an entitlement, pending deletions.
alter table actor_hosts rename column last_beat to last_heartbeat;
alter table emails rename column letter to content;
alter table org_counters rename column limits_version to entitlement_version;
alter table media_remains rename to media_pending_deletions;
alter index media_remains_pkey rename to media_pending_deletions_pkey;
alter index media_remains_due rename to media_pending_deletions_due;

-- Bodies of functions name their tables and columns as text.
create or replace function limits_changed() returns trigger language plpgsql as $$
begin
  update org_counters set entitlement_version = entitlement_version + 1
  where org_id = case when tg_table_name = 'organizations' then (to_jsonb(new)->>'id')::uuid else coalesce(to_jsonb(new)->>'org_id', to_jsonb(old)->>'org_id')::uuid end;
  return null;
end $$;

create or replace function leave_remains() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into media_pending_deletions (storage_key, org_id, storage_id, storage_setting_id, own_storage, due_at)
    values (old.storage_key, old.org_id, old.storage_id, old.storage_setting_id, old.own_storage, now()) on conflict do nothing;
    update files set thumbnail_key = null where thumbnail_key = old.storage_key;
  end if;
  if old.thumbnail_key is not null and not exists (select from files where storage_key = old.thumbnail_key or thumbnail_key = old.thumbnail_key) then
    insert into media_pending_deletions (storage_key, org_id, storage_id, storage_setting_id, own_storage, due_at)
    values (old.thumbnail_key, old.org_id, old.storage_id, old.storage_setting_id, old.own_storage, now()) on conflict do nothing;
  end if;
  return null;
end $$;
alter function leave_remains() rename to add_pending_deletions;
alter trigger files_leave_remains on files rename to files_pending_deletions;
alter trigger files_leave_thumbnail on files rename to files_pending_thumbnail_deletions;

-- Values that rows hold.
update payment_tasks set kind = 'apply' where kind = 'settle';
update actor_reminders set name = 'transition' where type = 'Organization' and name = 'turn';
