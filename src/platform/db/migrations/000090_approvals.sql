-- Posts that a person has to approve. The columns stand on the first item of a thread and are about all of it.
alter table posts
  add column approval_state text,          -- awaiting, approved, rejected; null: nobody asked
  add column approval_by uuid,             -- who asked, approved or rejected last
  add column approval_at timestamptz,
  add column approval_hash text;           -- of what was approved or rejected: content, media, settings, thread, channel
