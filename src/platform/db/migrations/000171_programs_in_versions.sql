-- Programs that have taken part in a document, beside the people in whose names they did: {kind, id, name}, by the name
-- that each had then.
alter table collaboration_documents
  add column typed_programs jsonb not null default '[]';   -- since the last version
alter table collaboration_versions
  add column programs jsonb not null default '[]';
