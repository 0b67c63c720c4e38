import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { Published } from '../../../providers/registry/index.ts';
import type { ChannelSnapshot } from '../channels-port.ts';
import { type ClaimColumns, post } from '../row.ts';
import type { ClaimedPost } from './attempt.ts';
import { savedOf } from './saved.ts';

/** What is read of a post for an attempt, and of its channel. */
export interface AttemptRow extends ClaimColumns {
  channelId: string;
  postId: string;
  savedMs: number | null;
  isLater: boolean;
  thread: Published[] | null;
  links: ClaimedPost['links'] | null;
  channel: Omit<ChannelSnapshot, 'tokenExpiresAt'> & { tokenExpiresAt: string | null };
}

export type ClaimedRow = AttemptRow & { lateMs: number };

/** What is read of a claimed post, from the row `alias` of it. */
export const attemptColumns = (sql: Sql, alias: string): Fragment => sql`
        ${sql(alias)}.id as "postId", ${post.select(sql, 'claim', alias)},
        (extract(epoch from now() - (${sql(alias)}.saved ->> 'since')::timestamptz) * 1000)::float8 as "savedMs",
        ${sql(alias)}.root_post_id is not null as "isLater",
        case when ${sql(alias)}.root_post_id is not null then (
          -- a person who named a release gave it no address
          select json_agg(
            json_build_object('id', q.release_id, 'url', coalesce(q.release_url, ''), 'saved', q.released)
            order by q.seq
          )
          from posts q
          where q.org_id = ${sql(alias)}.org_id
            and q.state = 'PUBLISHED'
            and (q.id = ${sql(alias)}.root_post_id or q.root_post_id = ${sql(alias)}.root_post_id)
        ) end as thread, (
          select json_agg(json_build_object('url', l.url, 'short', l.short_url, 'decided', l.state in ('made', 'long')))
          from short_links l
          where l.org_id = ${sql(alias)}.org_id
            and l.post_id = ${sql(alias)}.id
        ) as links`;

/** The columns of a `ClaimedRow`, from `claimed t`. */
export const claimedColumns = (sql: Sql): Fragment => sql`${attemptColumns(sql, 't')}, t.channel,
        round(extract(epoch from now() - t.due_at) * 1000)::float8 as "lateMs"`;

/** A `ChannelSnapshot` of the channel `c`. */
export const snapshot = (sql: Sql): Fragment => sql`json_build_object(
          'id', c.id, 'orgId', c.org_id, 'providerId', c.provider_id, 'providerVersion', c.provider_version,
          'internalId', c.internal_id, 'name', c.name, 'credentials', c.credentials,
          'tokenExpiresAt', c.token_expires_at, 'settings', c.settings, 'routeId', case c.egress
            when 'route' then c.egress_setting_id
            when 'org' then (select o.egress_setting_id from organizations o where o.id = c.org_id)
          end)`;

/** What an attempt is told, from the row that was read for it. */
export function attemptOf(row: AttemptRow) {
  const { channel, channelId, postId, isLater } = row;
  const { tokenExpiresAt } = channel;
  return {
    ...post.pick('claim', row),
    orgId: channel.orgId,
    channelId,
    postId,
    ...savedOf(row),
    thread: row.thread ?? [],
    isLater,
    links: row.links ?? [],
    channel: { ...channel, tokenExpiresAt: tokenExpiresAt === null ? null : new Date(tokenExpiresAt) },
  };
}

export const claimedOf = (row: ClaimedRow, incarnation: string, heldSince: number): ClaimedPost => ({
  ...attemptOf(row),
  incarnation,
  heldSince,
  lateMs: row.lateMs,
  unansweredMs: 0,
  mayHaveSent: false,
  isResend: false,
  lookUps: 0,
});
