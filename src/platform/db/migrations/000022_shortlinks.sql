-- Short links in the place of the long ones of a post. A row is one link of one item of a thread; it is decided once, before the item goes out.

create table short_links (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  post_id uuid not null references posts on delete cascade,
  url text not null,                       -- as it stands in the text
  url_hash bytea not null,                 -- SHA-256 of it: a link may be longer than an index takes
  state text not null default 'waiting',   -- waiting; asking; made and long (it goes out as it is), both for ever
  attempt int not null default 0,          -- counted by the taking update
  ask_at timestamptz not null,             -- waiting: when to ask. asking: when whoever asks counts as gone. infinity: not before the post is scheduled
  provider_id text,                        -- written before it is asked: from then on a link may have been made
  provider_version text,
  link_id text,                            -- the provider's own
  short_url text,
  reason text,                             -- why there is none, or none yet
  clicks bigint,                           -- when they were last told
  clicks_at timestamptz,
  created_at timestamptz not null default now(),
  check (state in ('waiting', 'asking', 'made', 'long')),
  check ((state = 'made') = (short_url is not null)),
  check (state <> 'made' or (provider_id is not null and provider_version is not null and link_id is not null))
);
create unique index short_links_of_post on short_links (post_id, url_hash);                           -- the taking of a post; one row for each link
create index short_links_open on short_links (ask_at) where state in ('waiting', 'asking');          -- who makes them ahead of time
create index short_links_of_org on short_links (org_id);                                              -- an organization that goes
