import type { Database } from '../../platform/db/index.ts';
import { bind } from '../../platform/kernel/index.ts';
import { append, type NewFact } from '../../platform/outbox/index.ts';
import { type BriefWeek, briefWeek } from './rules.ts';
import { type BriefCounts, claimReaders, countWeek, keepReaders, zonesOfReaders } from './store.ts';

interface BriefsDeps {
  sql: Database;
}

/**
 * Announces what agents and models did in a week, to those who chose to hear it: on Mondays at 08:00 by their clocks,
 * once for each of their organizations, whatever dies meanwhile. Answers how many were looked at.
 */
const tellAgentWeeks = ({ sql }: BriefsDeps, limit: number): Promise<number> =>
  sql.begin(async (tx) => {
    await keepReaders(tx, limit);
    const zones = await zonesOfReaders(tx);
    const weeks = new Map(zones.map(({ timezone, now }) => [timezone, briefWeek(now, timezone)]));
    const claimed = await claimReaders(
      tx,
      [...weeks].map(([timezone, { monday }]) => ({ timezone, monday })),
      limit,
    );
    const counts = new Map<string, BriefCounts>();
    const facts: NewFact[] = [];
    for (const { orgId, userId, timezone, isTold } of claimed) {
      if (!isTold) continue; // chosen since: the next week is their first one
      const week = weeks.get(timezone)!;
      const key = `${orgId} ${week.begins.toISOString()}`;
      const counted = counts.get(key) ?? (await countWeek(tx, orgId, week));
      counts.set(key, counted);
      if (hasHappened(counted)) facts.push(factOf(orgId, userId, week, counted));
    }
    await append(tx, facts);
    return claimed.length;
  });

const hasHappened = ({ acts, proposals, runs, spentMicros, drafts }: BriefCounts): boolean =>
  acts + proposals + runs + spentMicros + drafts > 0;

const factOf = (orgId: string, userId: string, { from, to }: BriefWeek, counts: BriefCounts): NewFact => ({
  orgId,
  topic: 'agents.week_summed',
  entityId: orgId,
  payload: { userId, from, to, ...counts },
});

/** Opens the weekly briefs of what agents and models do. */
export const openBriefs = (deps: BriefsDeps) => bind(deps, { tellAgentWeeks });
