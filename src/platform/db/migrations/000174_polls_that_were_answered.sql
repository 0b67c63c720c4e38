-- When the provider of a media job last said that it goes on, whether it says how far or not.
alter table media_jobs
  add column polled_at timestamptz;
