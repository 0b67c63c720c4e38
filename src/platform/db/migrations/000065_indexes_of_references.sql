-- Deleting a row looks for the rows that refer to it: without an index on them it reads their whole table.
create index api_keys_by_user on api_keys (user_id);                                        -- a user is deleted
create index channels_of_customer on channels (customer_id) where customer_id is not null;  -- a customer goes with its organization
create index emails_of_org on emails (org_id) where org_id is not null;                     -- an organization is deleted
create index files_by_org on files (org_id);                                                -- an organization is deleted
create index impersonations_of_admin on impersonations (admin_id);                          -- a user is deleted
create index impersonations_of_user on impersonations (user_id);                            -- a user is deleted
create index invitations_by_inviter on invitations (invited_by);                            -- a user is deleted
create index media_uploads_by_creator on media_uploads (created_by);                        -- a user is deleted
create index media_uploads_storage_setting on media_uploads (storage_setting_id) where storage_setting_id is not null;  -- a setting is deleted
create index oauth_clients_of_picture on oauth_clients (picture_id) where picture_id is not null;                       -- a file is deleted
create index payment_checkouts_of_org on payment_checkouts (org_id);                        -- an organization is deleted
create index payment_tasks_of_org on payment_tasks (org_id);                                -- an organization is deleted, once none is left

-- One index for the rows that are looked for and for those that are deleted: it holds the ended rows, too.
drop index impersonations_of_session;
create index impersonations_of_session on impersonations (session_id);                      -- ends the one before; a session is deleted
drop index payment_subscriptions_of_org;
create index payment_subscriptions_of_org on payment_subscriptions (org_id);                -- the org's plan and packs; an organization is deleted
drop index sessions_of_user;
create index sessions_of_user on sessions (user_id);                                        -- the sessions of a user; a user is deleted
drop index webhooks_of_org;
create index webhooks_of_org on webhooks (org_id, created_at);                              -- the org's webhooks; an organization is deleted
drop index webhook_deliveries_once;
create unique index webhook_deliveries_once on webhook_deliveries (webhook_id, outbox_id);  -- a fact once for each webhook; a webhook is deleted

-- The posts of a channel are found among those of its organization (posts_group): one index less to write for each post.
create unique index channels_of_tenant on channels (org_id, id);                            -- the channel of a post
alter table posts
  drop constraint posts_channel_id_fkey,
  add constraint posts_channel_fkey foreign key (org_id, channel_id) references channels (org_id, id) on delete cascade;
