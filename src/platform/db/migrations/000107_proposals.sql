-- Posts that agents propose: a proposal becomes posts when a person accepts it.

create table proposals (
  id uuid primary key,
  org_id uuid not null references organizations on delete cascade,
  content jsonb not null,                    -- the posts as the agent wrote them
  content_hash text not null,                -- SHA-256 of the content, in hexadecimal digits
  state text not null default 'pending' check (state in ('pending', 'accepted', 'rejected')),
  proposed_by uuid references users on delete set null,   -- whose key or token it was
  program text,                              -- the name of the key or app
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '30 days',
  acceptances int not null default 0,        -- begun and not refused: posts of it may be there
  decided_by uuid references users on delete set null,
  decided_at timestamptz,
  reason text,                               -- of a rejection
  post_ids uuid[]                            -- of an acceptance
);
create index proposals_of_org on proposals (org_id, id desc);   -- GET /proposals
create index proposals_ended on proposals (expires_at);         -- the sweep of old ones
create index proposals_proposed_by on proposals (proposed_by) where proposed_by is not null; -- when a person is deleted
create index proposals_decided_by on proposals (decided_by) where decided_by is not null;
