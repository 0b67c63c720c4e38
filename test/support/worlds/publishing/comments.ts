import { newId } from '../../../../src/platform/kernel/index.ts';
import type { Database } from '../../../../src/platform/db/index.ts';
import type { Published } from '../../../../src/providers/registry/index.ts';
import type { CommentTold } from '../../../../src/providers/social/_contract.ts';
import type { Network, Publisher } from './world.ts';

/** A page of comments as a network tells it. */
interface Told {
  comments: readonly CommentTold[];
  next?: string | undefined;
}
type Asked = { account: string; published: Published; cursor?: string | undefined };

/** What a network says below its posts, by their releases. */
export function saidBelow(network: Network) {
  const said = {
    /** The releases that were asked about, in their order. */
    asked: [] as { release: string; cursor: string | undefined }[],
    pages: (() => ({ comments: [] })) as (asked: Asked) => Told,
    hidden: [] as { id: string; hidden: boolean }[],
  };
  network.declares = {
    ...network.declares,
    comments: (async (asked: Asked) => {
      said.asked.push({ release: asked.published.id, cursor: asked.cursor });
      return said.pages(asked);
    }) as never, // the line of a channel is wider
    hide: (async ({ comment: { id }, hidden }: { comment: { id: string }; hidden: boolean }) => {
      said.hidden.push({ id, hidden });
    }) as never,
  };
  return said;
}
export type SaidBelow = ReturnType<typeof saidBelow>;

/** A comment by somebody, now unless said. */
export const commentBy = (name: string, more: Partial<CommentTold> = {}): CommentTold => ({
  id: newId(),
  text: `A word of ${name}`,
  author: { id: `id-of-${name}`, name },
  createdAt: new Date(Math.floor(Date.now() / 1_000) * 1_000),
  ...more,
});

/** A post that was published so many hours ago. */
export async function publishedPost(
  sql: Database,
  { orgId, channelId }: { orgId: string; channelId: string },
  { hours = 1, root, createdBy = null }: { hours?: number; root?: string; createdBy?: string | null } = {},
): Promise<string> {
  const id = newId();
  await sql`
    insert into posts (id, org_id, channel_id, group_id, root_post_id, state, content, publish_date, published_at,
      release_id, release_url, created_by)
    values (${id}, ${orgId}, ${channelId}, ${id}, ${root ?? null}, 'PUBLISHED', 'x', now(),
      now() - ${hours}::float8 * interval '1 hour', ${`r-${id}`}, 'https://fake.example/', ${createdBy})`;
  return id;
}

/** Lets the moment of a channel have come, and reads. */
export async function sweepNow({ sql, context }: Pick<Publisher, 'sql' | 'context'>, channelId: string) {
  await sql`
    insert into comment_sweeps (channel_id, org_id, next_run_at)
    select id, org_id, now()
    from channels
    where id = ${channelId}
    on conflict (channel_id) do update
    set next_run_at = now()`;
  return context.comments.sweepComments(500);
}

/** What was announced of comments of an organization, in order. */
export const announcedOf = (sql: Database, orgId: string) => sql<
  { topic: string; entityId: string; payload: Record<string, unknown> }[]
>`
  select topic, entity_id as "entityId", payload
  from outbox
  where org_id = ${orgId}
    and topic like 'comment.%'
  order by id`;

/** The sweeper of the process stands aside, so that each read is one of the test's. */
export const holdSweeper = (sql: Database) => sql`
  insert into leases (name, holder, expires_at) values ('sweeper', 'a test', 'infinity')
  on conflict (name) do update
  set holder = 'a test', expires_at = 'infinity'`;
