-- Each post lies in the organization of its channel, by posts_channel_fkey, and is deleted with it: a second look at the
-- organization for each row is left out.
alter table posts drop constraint posts_org_id_fkey;
