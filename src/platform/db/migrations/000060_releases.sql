-- A look-up after a lost answer must not take another post's release for its own.
create index posts_release on posts (channel_id, release_id) where release_id is not null;
create index posts_undecided on posts (channel_id) where detail in ('unconfirmed', 'processing');
