-- How many posts went to a network in the window that runs now, for an account or for an app that many channels share.

create table network_paces (
  key text primary key,             -- network, what it counts by, and the account or the app
  posts integer not null,
  until timestamptz not null        -- the end of the window
);
create index network_paces_until on network_paces (until);  -- ended windows are deleted
