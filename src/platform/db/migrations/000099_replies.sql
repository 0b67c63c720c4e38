-- Replies to comments are follow-ups of their post, of the kind `reply`.

alter table post_follow_ups add column reply jsonb;   -- {content, text, parent: {id, saved}}
