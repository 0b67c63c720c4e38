-- The audit log is not emptied either, by itself or with organizations (cascade): the function of 000054 says who may.
create trigger audit_log_is_not_emptied before truncate on audit_log
  for each statement execute function refuse_audit_change();
