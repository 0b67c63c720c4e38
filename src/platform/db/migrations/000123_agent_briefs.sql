-- Who reads the weekly brief of agents, and which week they were told of last.

create table agent_brief_readers (
  org_id uuid not null references organizations on delete cascade,
  user_id uuid not null references users on delete cascade,
  told_for date,                           -- the Monday of the last brief, by their clocks; null: they have just chosen it
  primary key (org_id, user_id)
);
create index agent_brief_readers_of_user on agent_brief_readers (user_id);         -- when a person is deleted
create index user_profiles_with_briefs on user_profiles (user_id)
  where notification_preferences #> '{categories,agent_briefs}' is not null;       -- who may have chosen it
create index posts_of_agents on posts (org_id, created_at) where creation_method = 'MCP';   -- what agents wrote in a week
