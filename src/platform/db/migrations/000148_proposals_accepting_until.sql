-- An acceptance whose process died is over after a while: then the proposal may be rejected, unless its posts are there.
alter table proposals add column accepting_until timestamptz;   -- of the last acceptance that was begun
