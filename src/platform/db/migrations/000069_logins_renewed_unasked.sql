-- Logins that end unless they are renewed are renewed also where nothing is posted: tried once a day near their end.
alter table channels add column renewal_tried_at timestamptz;
create index channels_login_ends on channels (token_expires_at) where token_expires_at is not null and deleted_at is null;  -- sweep
