-- What an organization looks and sounds like.
create table brand_kits (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  name text not null,
  colors text[] not null default '{}',
  fonts jsonb not null default '[]',             -- [{role, family}]
  logo_ids uuid[] not null default '{}',         -- files of the organization
  voice text,
  tone text,
  audience text,
  hashtags text[] not null default '{}',
  do_list text[] not null default '{}',
  dont_list text[] not null default '{}',
  is_default boolean not null default false,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index brand_kits_of_org on brand_kits (org_id, id);                              -- GET /brand-kits
create unique index brand_kits_default on brand_kits (org_id) where is_default;         -- one at most
