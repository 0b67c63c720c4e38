import type { Json, Sql } from '../db/index.ts';

/** A fact that others are to hear of: `topic` is its event (`post.published`), `entityId` the row that it happened to. */
export interface Announcement { orgId: string; topic: string; entityId: string; payload?: Record<string, Json> }

/** Writes facts into the outbox; call it in the transaction that makes them. */
export async function append(sql: Sql, facts: readonly Announcement[]): Promise<void> {
  if (facts.length === 0) return;
  const rows = facts.map(({ orgId, topic, entityId, payload = {} }) => ({ orgId, topic, entityId, payload }));
  await sql`
    insert into outbox (org_id, topic, entity_id, payload)
    select "orgId", topic, "entityId", payload from jsonb_to_recordset(${sql.json(rows as Json)}) with ordinality as t("orgId" uuid, topic text, "entityId" uuid, payload jsonb, n bigint) order by n`;
}
