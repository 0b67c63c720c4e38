-- What members say to each other about a post.

create table post_notes (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  post_id uuid not null references posts on delete cascade,
  user_id uuid references users on delete set null,
  content text not null,
  created_at timestamptz not null default now()
);
create index post_notes_of_post on post_notes (post_id, created_at, id);                  -- the notes of a post
create index post_notes_of_org on post_notes (org_id);                                    -- an organization is deleted
create index post_notes_of_user on post_notes (user_id) where user_id is not null;        -- a user is deleted
