-- When no host was there: between the last heartbeat of any host and the first one after it. What was due meanwhile may be missed.
create table actor_outages (
  began_at timestamptz primary key,
  ended_at timestamptz                     -- null: a host has left, and others may have gone on
);
