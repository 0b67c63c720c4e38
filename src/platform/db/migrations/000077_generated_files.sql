-- How a file of the library was made by a provider of media.

alter table files add column generated jsonb;
