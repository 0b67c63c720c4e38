-- Of a mail that bounced: its address is the reason. Others pass, or are the operator's to correct, and silence nobody.
alter table emails add column address_bad boolean not null default false;
-- Of what has bounced before it is not known: it counts as until now, until a later mail arrives.
update emails set address_bad = true where status = 'bounced' and sent_at is not null;
