-- The way that calls to networks take: over a route, which is a setting of the domain `vpn`, or the open way.

alter table organizations add column egress_setting_id uuid;   -- of its channels that choose nothing; null: the open way
alter table channels
  add column egress text not null default 'org' check (egress in ('org', 'open', 'route')),   -- what its org chose, the open way, or a route of its own
  add column egress_setting_id uuid,
  add constraint channels_egress check ((egress = 'route') = (egress_setting_id is not null));
create index organizations_by_route on organizations (egress_setting_id) where egress_setting_id is not null;   -- what uses a route; routes in use
create index channels_by_route on channels (egress_setting_id) where egress_setting_id is not null;             -- the same

-- A route that is in use stays. No foreign key: a deleted channel may come back, holds nobody up meanwhile, and then has to choose anew.
create function route_in_use() returns trigger language plpgsql as $$
begin
  if exists (select from organizations o where o.egress_setting_id = old.id)
    or exists (select from channels c join organizations o on o.id = c.org_id where c.egress_setting_id = old.id and c.deleted_at is null)
  then raise foreign_key_violation using message = 'This route is in use', constraint = 'channels_route';
  end if;
  return old;
end $$;
create trigger provider_settings_route before delete on provider_settings for each row when (old.domain = 'vpn') execute function route_in_use();

-- How each route was when it was last asked where it comes out, for an org that may use it.
create table egress_checks (
  org_id uuid not null references organizations on delete cascade,
  setting_id uuid not null references provider_settings on delete cascade,
  checked_at timestamptz not null,   -- when it was last taken up
  ok boolean,                        -- null: the first answer is not there yet
  exit_address text,                 -- the last one that was seen
  message text not null default '',
  latency_ms int,
  failing_since timestamptz,
  primary key (org_id, setting_id)
);
create index egress_checks_of_setting on egress_checks (setting_id);   -- deleting a setting
