-- What providers of mail tell of deliveries.

create index emails_by_message on emails (provider_id, provider_message_id) where provider_message_id is not null;   -- an event names the mail by the provider's id

-- What a provider signs in the place of a body: each proves one body. Kept as long as it could be taken for fresh.
create table email_event_tokens (
  token bytea primary key,                 -- SHA-256
  body bytea not null,                     -- SHA-256
  seen_at timestamptz not null default now()
);
create index email_event_tokens_age on email_event_tokens (seen_at);   -- the sweep
