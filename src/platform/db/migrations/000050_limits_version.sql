-- The rows that the limits of an org come from are seen as a statement's snapshot has them; its counters are locked, and seen as they are.
-- So whatever changes a limit writes it down there: who waited for the lock while a plan changed finds another version.

alter table org_counters add column limits_version bigint not null default 0;

create function limits_changed() returns trigger language plpgsql as $$
begin
  update org_counters set limits_version = limits_version + 1
  where org_id = case when tg_table_name = 'organizations' then (to_jsonb(new)->>'id')::uuid else coalesce(to_jsonb(new)->>'org_id', to_jsonb(old)->>'org_id')::uuid end;
  return null;
end $$;
create trigger organizations_limits after update of limit_overrides on organizations for each row
  when (old.limit_overrides is distinct from new.limit_overrides) execute function limits_changed();
create trigger subscriptions_limits after insert or update or delete on subscriptions for each row execute function limits_changed();
