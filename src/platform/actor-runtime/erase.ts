import type { Sql } from '../db/index.ts';

/**
 * Forgets reminders and documents of the actors of an organization, in the caller's transaction. Those of the embedded
 * engine: Dapr keeps reminders with ids alone, each of which finds nothing to do and ends when it fires.
 */
export async function forgetActorsOf(sql: Sql, orgId: string): Promise<void> {
  await sql`delete from actor_reminders where id = ${orgId} or id like ${`${orgId}:%`}`;
  await sql`delete from actor_states where id = ${orgId} or id like ${`${orgId}:%`}`;
}
