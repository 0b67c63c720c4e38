-- A channel is changed with each claim and each result. With room on its page the new version lies beside the old one,
-- and where nothing that is indexed has changed it is written to no index.
alter table channels set (fillfactor = 70);
