-- A network that takes no more for now says so of the account: no post of the channel is tried before that time.

alter table channels add column resting_until timestamptz;
