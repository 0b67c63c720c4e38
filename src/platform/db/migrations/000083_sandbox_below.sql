-- Comments, reposts and likes of the sandbox network stand below its posts, and are counted.
create index sandbox_ledger_below on sandbox_ledger (reply_to) where reply_to is not null;   -- counts of a post
