-- When the grace period of a subscription ended that was given up unpaid: what was queued by then waits for a payment.
alter table organizations add column unpaid_since timestamptz;
