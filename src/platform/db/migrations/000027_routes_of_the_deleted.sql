-- A deleted organization, whose rows stay for 30 days and which does not come back, keeps no route of the instance from being deleted.
create or replace function route_in_use() returns trigger language plpgsql as $$
begin
  if exists (select from organizations o where o.egress_setting_id = old.id and o.deleted_at is null)
    or exists (
      select from channels c join organizations o on o.id = c.org_id where c.egress_setting_id = old.id and c.deleted_at is null and o.deleted_at is null
    )
  then raise foreign_key_violation using message = 'This route is in use', constraint = 'channels_route';
  end if;
  return old;
end $$;
