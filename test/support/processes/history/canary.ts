import { z } from 'zod';
import type { Database } from '../../../../src/platform/db/index.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { type ActivationCodes, createdId, postBody, type ServiceClient, signUpAt } from '../client.ts';
import { subscribe } from '../../worlds/billing.ts';
import type { Canary } from './shape.ts';

// An organization that takes no part in what others do: its rows stay as they are, and others find none of them.

const WEEK_MS = 604_800_000;
const ACCOUNT = 'takes-no-part';

interface Planted {
  readonly orgId: string;
  /** Others ask for what it has, and try to change it. */
  ask(other: ServiceClient, otherChannelId: string): Promise<void>;
  /** All that is known of it, for the checker. */
  read(): Promise<Canary>;
}

/** Gives the organization of a person a plan with everything; without effect where billing is off. */
export const planIn = (sql: Database) => async (email: string) => {
  const [row] = await sql<{ orgId: string }[]>`
    select m.org_id as "orgId" from memberships m join users u on u.id = m.user_id where u.email = ${email}`;
  await subscribe(sql, row!.orgId, { tier: 'AGENCY' });
};

/** Signs up an organization with a channel, a webhook to `hookUrl`, a draft and a post that is due in a week. */
export async function plantCanary(
  url: string,
  sql: Database,
  hookUrl: string,
  codeTo?: ActivationCodes,
): Promise<Planted> {
  const client = await signUpAt(url, 'Takes no part', planIn(sql), codeTo);
  const channel = await client.own('/integrations/social-connect/sandbox', z.object({ id: z.string() }), {
    body: { fields: { name: ACCOUNT }, allowPreview: true },
  });
  const webhook = await client.own('/webhooks', z.object({ id: z.string() }), {
    body: { name: 'all', url: hookUrl, integrations: [], secret: true },
  });
  const [row] = await sql<{ orgId: string }[]>`select org_id as "orgId" from channels where id = ${channel.id}`;
  const { orgId } = row!;
  const body = postBody({ channelId: channel.id, date: systemClock.in(WEEK_MS), content: '<p>Nobody reads this</p>' });
  const postId = createdId(await client.ask('/public/v1/posts', { body }))!;
  await client.ask('/public/v1/posts', { body: { ...body, type: 'draft' } });
  const before = await rowsOf(sql, orgId);
  const asked: Canary['asked'][number][] = [];
  return {
    orgId,
    async ask(other, otherChannelId) {
      const requests: { what: string; method: string; path: string; body?: object; refusal?: number }[] = [
        { what: 'reading a post', method: 'GET', path: `posts/${postId}` },
        { what: 'changing a post', method: 'PUT', path: `posts/${postId}`, body: { content: '<p>Changed</p>' } },
        { what: 'deleting a post', method: 'DELETE', path: `posts/${postId}` },
        {
          what: 'posting to a channel',
          method: 'POST',
          path: 'posts',
          body: { ...body, posts: body.posts.map((post) => ({ ...post, integration: { id: channel.id } })) },
          refusal: 400,
        },
        {
          what: 'reposting from a channel',
          method: 'POST',
          path: 'posts',
          body: {
            ...body,
            posts: body.posts.map((post) => ({
              ...post,
              integration: { id: otherChannelId },
              settings: {
                'plug--sandbox-repost-from--active': true,
                'plug--sandbox-repost-from--integrations': [{ id: channel.id }],
              },
            })),
          },
          refusal: 400,
        },
      ];
      for (const { what, refusal = 404, path, ...sent } of requests) {
        const { status } = await other.ask(`/public/v1/${path}`, sent).catch(() => ({ status: 0 }));
        asked.push({ what, status, refusal });
      }
    },
    read: async () => ({
      account: ACCOUNT,
      before,
      after: await rowsOf(sql, orgId),
      named: await namedBy(sql, orgId, webhook.id),
      asked,
    }),
  };
}

/** Its rows that nobody but its own people changes; those of channels, webhooks and keys without what sweeps note. */
async function rowsOf(sql: Database, orgId: string): Promise<Record<string, string>> {
  const rows: Record<string, string> = {};
  const whole = ['posts', 'memberships', 'tags', 'files', 'webhook_deliveries', 'post_follow_ups', 'audit_log'];
  for (const table of whole)
    for (const { id, row } of await sql<{ id: string; row: string }[]>`
      select coalesce(to_jsonb(t) ->> 'id', to_jsonb(t) ->> 'user_id') as id, (to_jsonb(t) - 'last_used_at')::text as row
      from ${sql(table)} t
      where org_id = ${orgId}`)
      rows[`${table} ${id}`] = row;
  for (const table of ['channels', 'webhooks', 'api_keys'])
    for (const { id, row } of await sql<{ id: string; row: string }[]>`
      select id, jsonb_build_object('name', name, 'deleted', to_jsonb(t) -> 'deleted_at')::text as row
      from ${sql(table)} t
      where org_id = ${orgId}`)
      rows[`${table} ${id}`] = row;
  return rows;
}

/** Rows of others with its channel, its post or its webhook in them. */
async function namedBy(sql: Database, orgId: string, webhookId: string): Promise<string[]> {
  const rows = await sql<{ what: string }[]>`
    select 'posts ' || id as what
    from posts
    where org_id <> ${orgId} and channel_id in (select id from channels where org_id = ${orgId})
    union all
    select 'webhook_deliveries ' || id
    from webhook_deliveries
    where (org_id <> ${orgId}) = (webhook_id = ${webhookId})
      or org_id <> ${orgId} and post_id in (select id from posts where org_id = ${orgId})
    union all
    select 'post_follow_ups ' || id
    from post_follow_ups
    where org_id <> ${orgId}
      and (channel_id in (select id from channels where org_id = ${orgId})
        or post_id in (select id from posts where org_id = ${orgId}))
    union all
    select 'post_timeline ' || id
    from post_timeline
    where org_id <> ${orgId} and post_id in (select id from posts where org_id = ${orgId})`;
  return rows.map(({ what }) => what);
}
