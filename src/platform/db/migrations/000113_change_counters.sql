-- Counts, for each organization, the statements that changed what its lists show: a list whose number is the same is
-- answered as unchanged before it is read. Each connection counts in a row of its own, so that nobody waits for another;
-- rows of connections that have ended are added up in the row of backend 0 by a sweep.
create table change_counters (
  org_id uuid not null references organizations on delete cascade,
  backend int not null,
  changes bigint not null,
  primary key (org_id, backend)
) with (fillfactor = 50);

-- An organization that is being deleted counts nothing.
create function count_changes() returns trigger language plpgsql as $$
begin
  insert into change_counters as c (org_id, backend, changes)
  select distinct r.org_id, pg_backend_pid(), 1
  from changed_rows r
  where exists (select from organizations o where o.id = r.org_id)
  on conflict (org_id, backend) do update set changes = c.changes + 1;
  return null;
end $$;
create function count_change() returns trigger language plpgsql as $$
begin
  insert into change_counters as c (org_id, backend, changes)
  values (new.org_id, pg_backend_pid(), 1)
  on conflict (org_id, backend) do update set changes = c.changes + 1;
  return null;
end $$;

create trigger posts_counted_insert after insert on posts referencing new table as changed_rows for each statement execute function count_changes();
create trigger posts_counted_update after update on posts referencing new table as changed_rows for each statement execute function count_changes();
create trigger posts_counted_delete after delete on posts referencing old table as changed_rows for each statement execute function count_changes();
create trigger files_counted_insert after insert on files referencing new table as changed_rows for each statement execute function count_changes();
create trigger files_counted_update after update on files referencing new table as changed_rows for each statement execute function count_changes();
create trigger files_counted_delete after delete on files referencing old table as changed_rows for each statement execute function count_changes();
create trigger tags_counted_insert after insert on tags referencing new table as changed_rows for each statement execute function count_changes();
create trigger tags_counted_update after update on tags referencing new table as changed_rows for each statement execute function count_changes();
create trigger tags_counted_delete after delete on tags referencing old table as changed_rows for each statement execute function count_changes();
create trigger customers_counted_insert after insert on customers referencing new table as changed_rows for each statement execute function count_changes();
create trigger customers_counted_update after update on customers referencing new table as changed_rows for each statement execute function count_changes();
create trigger customers_counted_delete after delete on customers referencing old table as changed_rows for each statement execute function count_changes();
create trigger post_follow_ups_counted_insert after insert on post_follow_ups referencing new table as changed_rows for each statement execute function count_changes();
create trigger post_follow_ups_counted_update after update on post_follow_ups referencing new table as changed_rows for each statement execute function count_changes();
-- A channel is updated with every post that it publishes: only what is shown of it counts.
create trigger channels_counted_insert after insert on channels for each row execute function count_change();
create trigger channels_counted_update after update on channels for each row
  when ((old.provider_id, old.provider_version, old.internal_id, old.name, old.handle, old.picture, old.token_expires_at, old.settings,
      old.additional_settings, old.posting_times, old.customer_id, old.disabled, old.refresh_needed, old.server_limits, old.created_at, old.deleted_at)
    is distinct from (new.provider_id, new.provider_version, new.internal_id, new.name, new.handle, new.picture, new.token_expires_at, new.settings,
      new.additional_settings, new.posting_times, new.customer_id, new.disabled, new.refresh_needed, new.server_limits, new.created_at, new.deleted_at))
  execute function count_change();
