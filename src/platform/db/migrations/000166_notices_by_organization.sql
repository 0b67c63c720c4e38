-- Mails of notices leave in the order of organizations, from each the longest due: those of one hold up no other.
-- The expression puts those of several organizations together; src/delivery/email/store.ts has it, too.
create index emails_notices_of on emails (coalesce(org_id, '00000000-0000-0000-0000-000000000000'), next_attempt_at)
  where status = 'queued' and template = 'notification';   -- the sender, then
drop index emails_notices_due;
