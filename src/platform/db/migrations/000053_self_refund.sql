-- When an organization last gave charges back by itself: once a year.
alter table organizations add column self_refund_at timestamptz;
