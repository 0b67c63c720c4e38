-- Who made a tag: members change only their own.

alter table tags add column created_by uuid;
