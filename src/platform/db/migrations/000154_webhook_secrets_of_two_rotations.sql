-- A secret that two rotations within a day have replaced signs until 24 h after the first of them: the answer of that
-- one may have been lost, and the rotation repeated.
alter table webhooks
  add column older_secret text,            -- sealed; signs beside the other two
  add column older_secret_until timestamptz;
