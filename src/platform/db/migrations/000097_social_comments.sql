-- Comments of the networks below published posts.

create table social_comments (
  id uuid primary key,
  org_id uuid not null,
  channel_id uuid not null references channels on delete cascade,
  post_id uuid not null references posts on delete cascade,
  external_id text,                        -- its id at the network; null: a reply of ours, which its row in post_follow_ups knows by the same id
  parent_external_id text,                 -- the comment that it answers; null: the post itself
  answers uuid,                            -- of a reply of ours: the comment that it answers
  content text not null,                   -- plain text
  author_id text not null,
  author_name text not null,
  author_picture text,                     -- an address at the network
  is_own boolean not null,                 -- the channel itself wrote it
  hidden boolean not null default false,
  done boolean not null default false,     -- a person has nothing more to do
  replied_at timestamptz,                  -- the channel answered it at the network itself
  saved jsonb,                             -- what an answer to it needs
  deleted_at timestamptz,                  -- it is gone at the network, and what it said is gone here
  created_at timestamptz not null          -- at the network
);
create unique index social_comments_external on social_comments (channel_id, external_id);                                    -- sweep: what is known
create index social_comments_of_org on social_comments (org_id, created_at desc, id desc) where deleted_at is null;           -- GET /comments
create index social_comments_of_channel on social_comments (channel_id, created_at desc, id desc) where deleted_at is null;   -- GET /comments?integrationId
create index social_comments_of_post on social_comments (post_id, created_at desc, id desc);                                  -- GET /comments?postId; sweep: what is gone
create index social_comments_answers on social_comments (answers) where answers is not null;                                  -- replies to a comment
create index social_comments_age on social_comments (created_at);                                                             -- retention
