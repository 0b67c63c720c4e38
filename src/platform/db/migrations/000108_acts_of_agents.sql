-- What agents do stands in the audit log twice: before, and with its outcome after.

create index audit_log_of_credential on audit_log (org_id, (detail ->> 'credential'), id desc)
  where detail ? 'credential';                                                                -- GET /settings/audit?credential
create index audit_log_outcomes on audit_log ((detail ->> 'ends')) where detail ? 'ends';     -- the outcome of an act
