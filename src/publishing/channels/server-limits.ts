import type { Sql } from '../../platform/db/index.ts';
import type { Limits } from '../../providers/registry/index.ts';

/** What the own server of a channel takes, in place of what its network takes in general. */
export type ServerLimits = Partial<Limits>;

/** A server may be anybody's: nothing is believed beyond what a post can hold here. */
const MOST_TEXT = 100_000;
const MOST_MEDIA = 100;
const MOST_TYPES = 100;

/** The limits of a server as they are kept. */
export const boundedLimits = ({
  text,
  linkLength,
  media,
  mediaTypes,
  image,
  video,
  document,
}: ServerLimits): ServerLimits => ({
  ...(text !== undefined && { text: Math.min(text, MOST_TEXT) }),
  ...(media !== undefined && { media: Math.min(media, MOST_MEDIA) }),
  ...(mediaTypes && { mediaTypes: mediaTypes.slice(0, MOST_TYPES) }),
  ...(linkLength !== undefined && { linkLength }),
  ...(image && { image }),
  ...(video && { video }),
  ...(document && { document }),
});

/** The limits of a channel: those of its network, and what its server said. */
export const limitsOfChannel = (limits: Limits, server: ServerLimits | null): Limits => ({ ...limits, ...server });

export interface ChannelKey {
  orgId: string;
  id: string;
}

/**
 * Claims at most `limit` channels whose servers are to be asked now; whoever claims one asks, and it is due again in
 * an hour.
 */
export const claimDueServers = (sql: Sql, providerIds: readonly string[], limit: number): Promise<ChannelKey[]> => sql<
  ChannelKey[]
>`/* all orgs */
  with due as (
    select id
    from channels
    where provider_id = any(${[...providerIds]}::text[])
      and server_limits_due_at <= now()
      and deleted_at is null
      and not disabled
      and not refresh_needed
    order by server_limits_due_at
    limit ${limit}
    for no key update
    skip locked
  )
  update channels c
  set server_limits_due_at = now() + interval '1 hour'
  from due
  where c.id = due.id
  returning c.org_id as "orgId", c.id`;

/** Keeps what a server said; it is asked again in an hour. */
export const keepServerLimits = (sql: Sql, { orgId, id }: ChannelKey, limits: ServerLimits): Promise<unknown> => sql`
  update channels
  set server_limits = ${JSON.stringify(limits)}::text::jsonb, server_limits_due_at = now() + interval '1 hour'
  where org_id = ${orgId} and id = ${id} and deleted_at is null`;
