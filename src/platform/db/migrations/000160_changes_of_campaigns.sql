-- A post is shown with its campaign, which a tag becomes or ceases to be without a change of the post or of the tag.
create trigger campaigns_counted_insert after insert on campaigns referencing new table as changed_rows for each statement execute function count_changes();
create trigger campaigns_counted_delete after delete on campaigns referencing old table as changed_rows for each statement execute function count_changes();
