-- Apart from the column, whose lock would keep readers out while the tables are scanned.
create index webhook_deliveries_of_post on webhook_deliveries (post_id) where post_id is not null;
create index webhook_attempts_of_delivery on webhook_attempts (delivery_id);
