-- What open pages are told: in the order in which transactions ended. Numbers become visible out of order, so a page
-- that went by them would miss some. Rows of before are told to nobody.

alter table notifications add column txid xid8;
alter table notifications alter column txid set default pg_current_xact_id();   -- set apart, so that no row is rewritten
create index notifications_of_stream on notifications (org_id, user_id, txid, seq);   -- what is new to a page
