import { z } from 'zod';
import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { isId, notFound } from '../../../platform/kernel/index.ts';
import { holdCampaign } from '../campaigns/store.ts';

/** What a brake stands on: the organization, a channel, or a campaign, or a group of posts in its place. */
export const BrakeTarget = z.strictObject({
  scope: z.enum(['org', 'channel', 'campaign']),
  /** Of the channel, the campaign or the group. */
  id: z.string().optional(),
});
export type BrakeTarget = z.output<typeof BrakeTarget>;

/** The name of a brake in its organization, and in the rows of the channels that it stands on. */
export interface BrakeName {
  key: string;
  mark: string;
}
const named = (mark: string): BrakeName => ({ key: mark, mark });

/**
 * Finds the name of a brake, in the transaction that sets or releases it: a campaign that there is stays until its end,
 * and is named by its tag, which its posts carry.
 */
export async function brakeOf(sql: Sql, orgId: string, { scope, id }: BrakeTarget): Promise<BrakeName> {
  if (scope === 'org') return named('org');
  if (scope === 'channel') return { key: `channel:${id}`, mark: 'channel' };
  return named((await holdCampaign(sql, orgId, id!)) ?? `campaign:${id}`);
}

/** The channels that carry the mark of a brake: posts of a campaign may come to any of them. */
export const brakedChannels = (sql: Sql, orgId: string, { scope, id }: BrakeTarget): Fragment =>
  scope === 'channel' ? sql`org_id = ${orgId} and id = ${id!}` : sql`org_id = ${orgId}`;

/** The marks that a new channel of the organization begins with; `lockOrg` holds them still. */
export const marksOfNewChannel = (sql: Sql, orgId: string): Fragment => sql`coalesce((
          select array_agg(b.brake order by b.brake)
          from brakes b
          where b.org_id = ${orgId}
            and b.brake not like 'channel:%'
        ), '{}')`;

/** Throws `not_found` for what the organization does not have. */
export async function checkTarget(sql: Sql, orgId: string, { scope, id }: BrakeTarget): Promise<void> {
  if (scope === 'org') return;
  if (scope === 'campaign' && (await holdCampaign(sql, orgId, id!)) !== undefined) return;
  const rows =
    scope === 'channel'
      ? isId(id!) && (await sql`select from channels where org_id = ${orgId} and id = ${id!} and deleted_at is null`)
      : await sql`select from posts where org_id = ${orgId} and group_id = ${id!} and deleted_at is null limit 1`;
  if (!rows || rows.length === 0) throw notFound(scope === 'channel' ? 'Integration not found' : 'Campaign not found');
}

/** Holds the channels of a brake until the commit, in the order of their ids. */
export const lockBraked = (sql: Sql, orgId: string, target: BrakeTarget) => sql`
  select
  from channels
  where ${brakedChannels(sql, orgId, target)}
  order by id
  for update`;
