-- The soft quota of local storage is told once a day.

alter table org_counters add column soft_quota_told_on date;   -- UTC
