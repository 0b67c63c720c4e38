-- When comments of a channel are read next, and how far those of a post were read.

create table comment_sweeps (
  channel_id uuid primary key references channels on delete cascade,
  org_id uuid not null,
  next_run_at timestamptz not null,
  whole_at timestamptz,                    -- when posts of 30 days were read last
  claim uuid,                              -- of the read that is under way
  claimed_until timestamptz
);
create index comment_sweeps_due on comment_sweeps (next_run_at);   -- sweep: channels that are due

create table comment_reads (
  post_id uuid primary key references posts on delete cascade,
  org_id uuid not null,
  read_at timestamptz not null,
  is_silent boolean not null,              -- the post was a day old at the first look, which has not come to its end
  cursor text                              -- where the next look goes on; null: at the beginning
);
