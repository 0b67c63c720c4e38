-- Who approves a device is shown from where it asked. The row goes an hour after its code has expired, and these with it.

alter table oauth_devices
  add column ip text not null default '',
  add column user_agent text not null default '';
