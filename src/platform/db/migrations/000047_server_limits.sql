-- What the own server of a channel takes: {text, linkLength, media}; null as long as it has not said so.
alter table channels add column server_limits jsonb;
alter table channels add column server_limits_due_at timestamptz not null default now();
create index channels_server_limits_due on channels (provider_id, server_limits_due_at)
  where deleted_at is null and not disabled and not refresh_needed;   -- the sweep `server-limits`
