-- The ids that a row of the audit log names, in whichever place: by them the few are found that name a person who is
-- erased. In plpgsql, which keeps its plan for the session: in sql it added three times as much to each row.
create function audit_log_ids(user_id uuid, impersonator_id uuid, resource_id text, detail jsonb) returns uuid[]
language plpgsql immutable parallel safe as $$
begin
  return array_remove(array[user_id, impersonator_id], null) || array(
    select named.id[1]::uuid
    from regexp_matches(
      coalesce(resource_id, '') || ' ' || detail::text,
      '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
      'g'
    ) as named (id)
  );
end
$$;
create index audit_log_by_id on audit_log
  using gin (audit_log_ids(user_id, impersonator_id, resource_id, detail));   -- a user who is erased
drop index audit_log_by_user;           -- none of them finds ids in a detail: nothing reads them
drop index audit_log_by_impersonator;
drop index audit_log_about_user;
