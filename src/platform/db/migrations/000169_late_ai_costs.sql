-- Calls of AI that were settled before their provider said what they cost: it is asked once more.

create table ai_late_costs (
  org_id uuid not null references organizations on delete cascade,
  ref uuid not null,                       -- the call in the ledger
  setting_id uuid not null,                -- whose key it was made with; it may be gone by then
  call_ids text[] not null,                -- the provider's names of its questions
  ask_at timestamptz not null,
  primary key (org_id, ref)
);
create index ai_late_costs_due on ai_late_costs (ask_at);   -- sweep: calls whose provider is asked
