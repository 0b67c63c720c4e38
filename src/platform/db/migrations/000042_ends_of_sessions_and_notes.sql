-- Sessions end 180 days after their login; what was erased leaves the logs, too.

update sessions set expires_at = created_at + interval '180 days' where expires_at > created_at + interval '180 days';

-- Notes hold no address of a person: users and invitations are named by their ids.
select set_config('rookery.audit_log', 'retention', true);
update audit_log set detail = detail - 'from' - 'to' where action in ('email.changed', 'email.change_requested');
update audit_log set detail = detail - 'email' where action in ('invitation.created', 'invitation.deleted');
select set_config('rookery.audit_log', '', true);

create index audit_log_traces on audit_log (at) where ip is not null;                      -- the sweep of addresses
create index audit_log_by_user on audit_log (user_id) where ip is not null;                -- a user who is erased
create index audit_log_by_impersonator on audit_log (impersonator_id) where impersonator_id is not null and ip is not null;           -- the same
create index audit_log_about_user on audit_log (resource_id) where resource = 'user' and user_id is null and ip is not null;        -- the same
create index emails_to_address on emails (lower(to_address));                              -- the same
