-- Whom a super-admin locks out stays out: unlike somebody who has not activated yet, no mail opens the account again.

alter table users add column locked_at timestamptz;   -- null: not locked

update users u set locked_at = now()
where not activated and exists (
  select 1 from audit_log where action = 'user.changed' and resource = 'user' and resource_id = u.id::text and detail->>'activated' = 'false'
);
