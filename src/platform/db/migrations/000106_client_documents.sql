-- Clients that are named by the address of a document of theirs, which is read again from time to time.
alter table oauth_clients add column document_until timestamptz;   -- until then what was read is good; null: no document
