alter table post_follow_ups add column circuit_since timestamptz;  -- waits since then for a network that answers nobody
