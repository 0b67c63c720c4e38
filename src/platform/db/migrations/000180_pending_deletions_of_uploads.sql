-- Whoever deletes the row of an upload in parts leaves its object to the sweep, unless a file has it: a person or an
-- organization that is erased takes the row away, too.
create function add_pending_deletion_of_upload() returns trigger language plpgsql as $$
begin
  insert into media_pending_deletions (storage_key, org_id, storage_id, storage_setting_id, own_storage, due_at)
  select old.storage_key, old.org_id, old.storage_id, old.storage_setting_id, old.own_storage, now()
  where not exists (select from files where storage_key = old.storage_key)
  on conflict do nothing;
  return null;
end $$;
create trigger media_uploads_pending_deletions after delete on media_uploads
  for each row execute function add_pending_deletion_of_upload();
