-- The object of an upload whose row goes while somebody completes it may come only then: it goes when their claim ends.
create or replace function add_pending_deletion_of_upload() returns trigger language plpgsql as $$
begin
  insert into media_pending_deletions (storage_key, org_id, storage_id, storage_setting_id, own_storage, due_at)
  select old.storage_key, old.org_id, old.storage_id, old.storage_setting_id, old.own_storage,
    greatest(now(), old.held_until)
  where not exists (select from files where storage_key = old.storage_key)
  on conflict do nothing;
  return null;
end $$;
