import type { Fragment, Sql } from '../../platform/db/index.ts';
import type { PlugValue } from './row.ts';

/** An auto plug of a channel, as people have set it (S144). */
export interface ConfigurationRow {
  id: string;
  plugFunction: string;
  channelId: string;
  fields: PlugValue[];
  activated: boolean;
  runs: number;
  lastRunAt: Date | null;
}

const columns = (sql: Sql): Fragment => sql`
  k.id, k.plug_function as "plugFunction", k.channel_id as "channelId", k.fields, k.activated, k.runs::float8 as runs,
  k.last_run_at as "lastRunAt"`;

/** Of a channel that is there. */
export const configurationsOfChannel = (sql: Sql, orgId: string, channelId: string) => sql<ConfigurationRow[]>`
  select ${columns(sql)}
  from plug_configurations k
  where k.org_id = ${orgId}
    and k.channel_id = ${channelId}
  order by k.created_at, k.id`;

/** Of a channel that is there. */
export async function findConfiguration(sql: Sql, orgId: string, id: string): Promise<ConfigurationRow | undefined> {
  const [row] = await sql<ConfigurationRow[]>`
    select ${columns(sql)}
    from plug_configurations k
    join channels c on c.id = k.channel_id and c.org_id = k.org_id and c.deleted_at is null
    where k.org_id = ${orgId}
      and k.id = ${id}`;
  return row;
}

/** A new one looks from now on; one that is there gets its fields and stays on or off. */
export async function upsertConfiguration(
  sql: Sql,
  one: { id: string; orgId: string; channelId: string; func: string; fields: readonly PlugValue[] },
): Promise<ConfigurationRow> {
  const [row] = await sql<ConfigurationRow[]>`
    insert into plug_configurations as k (id, org_id, channel_id, plug_function, fields, next_run_at)
    values (${one.id}, ${one.orgId}, ${one.channelId}, ${one.func}, ${JSON.stringify(one.fields)}::text::jsonb, now())
    on conflict (channel_id, plug_function) do update
    set fields = excluded.fields, updated_at = now()
    where k.org_id = ${one.orgId}
    returning ${columns(sql)}`;
  return row!; // the channel is of this organization, and so is what was there
}

/** Its claim ends, so that a look that is under way acts no more. */
export const activateConfiguration = (sql: Sql, orgId: string, id: string, active: boolean) => sql`
  update plug_configurations
  set activated = ${active}, ran_until = now(), next_run_at = case when ${active} then now() end, claim = null,
    claimed_until = null, updated_at = now()
  where org_id = ${orgId}
    and id = ${id}
    and activated <> ${active}`;
