-- Brakes that people put on publishing. A channel has those that stand on it in its row: whoever locks the channel, as
-- each claim does, sees them as they are.
create table brakes (
  org_id uuid not null references organizations on delete cascade,
  brake text not null,                     -- org, channel:<id>, campaign:<group>
  set_by uuid,
  set_at timestamptz not null default now(),
  primary key (org_id, brake)
);
alter table channels add column brakes text[] not null default '{}';      -- org, channel, campaign:<group>
alter table posts add column on_brake boolean not null default false;    -- paused by a brake, and by nothing else
