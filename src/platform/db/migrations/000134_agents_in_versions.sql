-- Agents that have changed what a document stands for, and what exactly they changed.

alter table collaboration_versions
  add column agents text[] not null default '{}',   -- names of programs
  add column changed_to jsonb;                      -- of an `agent_edit`: what the contents became, so that only this is taken back
