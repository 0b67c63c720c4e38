-- Which upload in parts a file was made of.

alter table files add column upload_id uuid;
create unique index files_upload on files (upload_id) where upload_id is not null;   -- one file at most of each; the file for whoever completes once more
