create index payment_events_by_age on payment_events (received_at);   -- the sweep that forgets them
