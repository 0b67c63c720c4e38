-- The program whose hour a program counts in: of keys that replaced each other the first one. Null: its own.
alter table program_limits add column hour_of uuid;
