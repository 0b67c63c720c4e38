-- The audit log is only added to: rows go by age, and with their organization (its cascade is a trigger, so this one runs within it).
-- Whoever must change rows all the same says so in the transaction: set_config('rookery.audit_log', 'retention', true).
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if pg_trigger_depth() > 1 or current_setting('rookery.audit_log', true) = 'retention' then
    return null;
  end if;
  raise exception 'The audit log is only added to' using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_log_is_kept before update or delete on audit_log
  for each statement execute function refuse_audit_change();
