-- Who has typed what stands in a document and not in its post yet, for whichever process saves it. A release that does
-- not write it leaves `unsaved_version` behind `version`: then nobody knows who has typed.
alter table collaboration_documents
  add column unsaved_by jsonb,             -- {userId, schedulesFreely, agent?} of who counts of several, or "unknown"
  add column unsaved_version int;          -- the `version` that `unsaved_by` was written with
