-- What counts against the limits of an org's plan.

alter table organizations add column limit_overrides jsonb not null default '{}';   -- by dimension; they live with the org and survive its subscription (S217)

-- One row for each org that has counted anything. Whoever adds to what is counted locks it, after the org's own row and before any other of the org.
create table org_counters (
  org_id uuid primary key references organizations on delete cascade,
  month_anchor timestamptz,                -- what the billing months are reckoned from; null: posts have not been counted
  month_start timestamptz,                 -- of the billing month that `posts` counts
  posts int not null default 0,            -- created in it; a thread is one
  storage_bytes bigint not null default 0  -- of the files that are there; kept by the trigger below
);

-- Storage is summed up as files come and go, whoever writes them, so that an upload costs no sum over all files. Not counted: a deleted file,
-- one in storage that the org brought, and a copy that was fetched to publish a post: it is the service's own and leaves after a day.
create function counted_bytes(file files) returns bigint language sql immutable as $$
  select case when file.deleted_at is null and file.source_url is null and file.storage_id = 'local' then file.bytes else 0 end
$$;
create function count_storage() returns trigger language plpgsql as $$
declare
  more bigint := 0;
begin
  if tg_op <> 'DELETE' then more := counted_bytes(new); end if;
  if tg_op <> 'INSERT' then more := more - counted_bytes(old); end if;
  if more <> 0 then
    insert into org_counters (org_id, storage_bytes)
    select id, more from organizations where id = coalesce(new.org_id, old.org_id)   -- an org that is going takes its counters with it
    on conflict (org_id) do update set storage_bytes = org_counters.storage_bytes + more;
  end if;
  return null;
end $$;
create trigger files_counted after insert or delete or update of bytes, deleted_at, source_url, storage_id on files for each row execute function count_storage();

insert into org_counters (org_id, storage_bytes) select org_id, sum(counted_bytes(f)) from files f group by org_id;
