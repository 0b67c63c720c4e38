-- An address that a server refused while a mail was sent takes no mail either: such a mail has never left.
create index emails_silencing on emails (lower(to_address)) where status = 'complained' or (status = 'bounced' and address_bad);   -- whether an address takes mail
drop index emails_undeliverable;
