import type { Json, Sql } from '../db/index.ts';

/** A fact that others are to hear of: `topic` is its event (`post.published`), `entityId` the row that it happened to. */
export interface Announcement {
  orgId: string;
  topic: string;
  entityId: string;
  payload?: Record<string, Json>;
}

/** Writes facts into the outbox; call it in the transaction that makes them. */
export async function append(sql: Sql, facts: readonly Announcement[]): Promise<void> {
  if (facts.length === 0) return;
  await sql`
    insert into outbox (org_id, topic, entity_id, payload)
    select org_id, topic, entity_id, payload from unnest(
      ${facts.map(({ orgId }) => orgId)}::uuid[], ${facts.map(({ topic }) => topic)}::text[], ${facts.map(({ entityId }) => entityId)}::uuid[],
      ${facts.map(({ payload = {} }) => JSON.stringify(payload))}::text[]::jsonb[]
    ) with ordinality as t (org_id, topic, entity_id, payload, n) order by n`;
}
