-- The limit that a failed job of media had no room in, with its greatest value: `{limit, max}`.
alter table media_jobs add column exceeded jsonb;
