-- Of a mail that bounced: its address is the reason. Others pass, or are the operator's to correct, and silence nobody.
alter table emails add column address_bad boolean not null default false;
-- Of what has bounced before it is not known: it counts as until now, until a later mail arrives.
update emails set address_bad = true where status = 'bounced' and sent_at is not null;

-- Mails that somebody waits for (a reset, an invitation) leave before notices, of which a broadcast writes thousands.
create index emails_waited_for on emails (next_attempt_at) where status = 'queued' and template <> 'notification';   -- the sender, first
create index emails_notices_due on emails (next_attempt_at) where status = 'queued' and template = 'notification';   -- the sender, then
drop index emails_due;
