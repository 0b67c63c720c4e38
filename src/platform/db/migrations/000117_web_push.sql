-- Web push: a token that is the JSON of a subscription goes to the push service of a browser, not to Firebase.

alter table push_tokens add column via text not null default 'fcm' check (via in ('fcm', 'web-push'));
