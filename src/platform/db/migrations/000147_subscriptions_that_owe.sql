-- A grace period ends when nothing of what an organization pays for is owed any more, plan and packs. The release before
-- starts one for its plan alone: that is what owes where one runs already.
alter table payment_subscriptions
  add column owing boolean not null default false;  -- the last invoice of what counts could not be collected
update payment_subscriptions p
set owing = true
from subscriptions s
where s.org_id = p.org_id
  and s.processor_id = p.id
  and s.grace_period_end is not null;
