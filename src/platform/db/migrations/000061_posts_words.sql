-- The words of the code: a post is claimed, the due time of a channel has a version, a reminder is due.
alter table posts rename column taken_at to claimed_at;
alter table channels rename column moves to due_version;
alter table channels rename column registered_for to reminder_due_at;
