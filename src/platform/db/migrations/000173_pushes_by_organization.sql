-- Pushes leave in the order of organizations, from each the longest due: those of one hold up no other.
alter table pushes
  add column owner_id uuid not null default '00000000-0000-0000-0000-000000000000';   -- the organization; none or several: zeros
create index pushes_of_owner on pushes (owner_id, next_attempt_at);   -- the sender
-- What is due for the longest, whoever's it is. Its condition holds for every row, and only the statement that repeats
-- it may use the index: the one that looks for those of one organization would read those of all the others.
drop index pushes_due;
create index pushes_due on pushes (next_attempt_at) where attempts >= 0;   -- the sender
