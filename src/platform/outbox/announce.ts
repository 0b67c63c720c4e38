import type { Fragment, Sql } from '../db/index.ts';
import type { Payload, Topic } from './facts.ts';

/** A fact that is made in code; `entityId` is the row that it happened to. */
export type NewFact = { [T in Topic]: { orgId: string; topic: T; entityId: string; payload: Payload<T> } }[Topic];

/**
 * One fact for each row behind `from`, whose columns `org_id` and `id` name the organization and the entity; `payload`
 * has an expression for each key. `order`: of the facts of one statement, where somebody may look at it.
 */
type Announced = {
  [T in Topic]: { from: Fragment; payload: { [Key in keyof Payload<T>]: Fragment }; order?: Fragment };
};

/**
 * A CTE that writes facts, in the statement that makes them: in the order of the topics, as one insert. It is called
 * after the first topic, as in `post_paused_announced`, so a statement may have several.
 */
export function announce(sql: Sql, announced: Partial<Announced>): Fragment {
  const [first, ...more] = Object.entries(announced).map(([topic, fact]) => ({ topic, ...fact }));
  if (!first) throw new Error('announce: no topic was named');
  const rows = ({ topic, from, payload, order }: typeof first) => {
    const selected = sql`
      select org_id, ${topic}::text, id, (select to_jsonb(payload) from (select ${columns(sql, payload)}) payload)
      from ${from}`;
    return order
      ? sql` (${selected}
      order by ${order})`
      : selected;
  };
  return sql`
    ${sql(`${first.topic.replace('.', '_')}_announced`)} as (
      insert into outbox (org_id, topic, entity_id,
        payload)${more.reduce((all, fact) => sql`${all} union all ${rows(fact)}`, rows(first))}
    )`;
}

function columns(sql: Sql, payload: Record<string, Fragment>): Fragment {
  const [first, ...more] = Object.entries(payload).map(([key, value]) => sql`${value} as ${sql(key)}`);
  return more.reduce((all, column) => sql`${all}, ${column}`, first ?? sql``);
}

/** Writes facts; call it in the transaction that makes them. */
export async function append(sql: Sql, facts: readonly NewFact[]): Promise<void> {
  if (facts.length === 0) return;
  await sql`
    insert into outbox (org_id, topic, entity_id, payload)
    select org_id, topic, entity_id, payload
    from unnest(
      ${facts.map(({ orgId }) => orgId)}::uuid[], ${facts.map(({ topic }) => topic)}::text[],
      ${facts.map(({ entityId }) => entityId)}::uuid[],
      ${facts.map(({ payload }) => JSON.stringify(payload))}::text[]::jsonb[]
    ) with ordinality as t (org_id, topic, entity_id, payload, n)
    order by n`;
}
