-- Where a file of the library was taken from: the stock source, its version and its item, whom to credit, under which licence.

alter table files add column attribution jsonb;
create unique index files_stock_item on files (org_id, (attribution->>'provider'), (attribution->>'itemId'))
  where attribution is not null and deleted_at is null;   -- an item is taken once; the file that there is of it

-- Who takes an item into the library of an org: it is acquired once, for that may cost something.
create table stock_claims (
  org_id uuid not null references organizations on delete cascade,
  provider text not null,
  item_id text not null,
  held_until timestamptz not null,
  primary key (org_id, provider, item_id)
);
