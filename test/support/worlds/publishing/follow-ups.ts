import { newId, ProviderError } from '../../../../src/platform/kernel/index.ts';
import type { Database, Sql } from '../../../../src/platform/db/index.ts';
import type { ChannelPost, Counts } from '../../../../src/providers/social/_contract.ts';
import type { OnceClass, Published } from '../../../../src/providers/registry/index.ts';
import type { Network, Publisher } from './world.ts';

interface Made {
  /** The account that made it, which is the channel. */
  account: string;
  id: string;
  /** The post below which it stands, as the network knows it. */
  below: string;
  /** The account that published that post. */
  of?: string | undefined;
  text: string;
}
export type Kind = 'comment' | 'repost';

/** What stands below the posts of a network, and what it is told to do. */
export function belowPosts(network: Network, once: OnceClass = 'key') {
  const ledger = {
    asked: [] as (Made & { kind: Kind })[],
    made: [] as (Made & { kind: Kind })[],
    looks: 0,
    /** What a call does instead; `accept` makes it. */
    behave: undefined as ((asked: Made & { kind: Kind }, accept: () => Published) => Promise<Published>) | undefined,
    counts: (() => ({ likes: 0 })) as (release: string) => Counts,
    /** Releases that were read together, a list for each call. */
    counted: [] as string[][],
  };
  const make = async (one: Made & { kind: Kind }): Promise<Published> => {
    ledger.asked.push(one);
    const accept = () => {
      ledger.made.push(one);
      return { id: `below-${one.id}`, url: `https://fake.example/below/${one.id}` };
    };
    return ledger.behave ? ledger.behave(one, accept) : accept();
  };
  const find = async (id: string): Promise<Published | undefined> => {
    ledger.looks += 1;
    return ledger.made.some((one) => one.id === id) ? { id: `below-${id}`, url: '' } : undefined;
  };
  const classOf = <F>(finding: F) => (once === 'at-most-once' ? { once } : { once, find: finding });
  network.declares = {
    ...network.declares,
    comment: {
      ...classOf(({ post }: { post: { id: string } }) => find(post.id)),
      send: ({
        account,
        post,
        published,
      }: {
        account: string;
        post: { id: string; text: string };
        published: ChannelPost;
      }) =>
        make({ kind: 'comment', account, id: post.id, below: published.id, of: published.account, text: post.text }),
    } as never, // the line of a channel is wider
    repost: {
      ...classOf(({ repost }: { repost: { id: string } }) => find(repost.id)),
      send: ({
        account,
        repost: { id, published },
      }: {
        account: string;
        repost: { id: string; published: ChannelPost };
      }) => make({ kind: 'repost', account, id, below: published.id, of: published.account, text: '' }),
    } as never,
    metrics: (async ({ posts }: { posts: readonly Published[] }) => {
      ledger.counted.push(posts.map(({ id }) => id));
      return posts.map(({ id }) => ({ id, counts: ledger.counts(id) }));
    }) as never,
    metricsAtOnce: 100,
  };
  return ledger;
}
export type BelowPosts = ReturnType<typeof belowPosts>;

export const lostAnswer = () => new ProviderError('lost', 'the connection was reset');

export interface FollowUpRow {
  id: string;
  kind: string;
  state: string;
  error: string | null;
  attempt: number;
  incarnation: string | null;
  waitsMs: number | null;
  releaseId: string | null;
}
/** What follows a post, as the rows have it; `waitsMs`: until the next step, in whole seconds. */
export const followUpsOf = (sql: Database, postId: string): Promise<FollowUpRow[]> => sql<FollowUpRow[]>`
  select id, kind, state, error, attempt, incarnation, release_id as "releaseId",
    (ceil(extract(epoch from due_at - now())) * 1000)::int as "waitsMs"
  from post_follow_ups
  where post_id = ${postId}
  order by kind, key`;

/** What waits of a post has its time, and the reconciler looks. */
export async function makeDue({ sql, reconciler }: Pick<Publisher, 'sql' | 'reconciler'>, postId: string) {
  await sql`
    update post_follow_ups
    set due_at = now() - interval '36 s'
    where post_id = ${postId} and due_at is not null and incarnation is null`;
  return reconciler.sweep();
}

/** Leaves a follow-up claimed by a host that is silent since; `sent`: its request may have left. */
export async function abandon(sql: Sql, postId: string, { sent = false } = {}): Promise<void> {
  await sql`
    update post_follow_ups
    set state = 'sending', attempt = attempt + 1, incarnation = ${newId()}, claimed_at = now() - interval '1 minute',
      due_at = now() + interval '1 minute', request_sent_at = case when ${sent} then now() end
    where post_id = ${postId}`;
}

/** The entries of a timeline of these kinds, with what they say. */
export const told = async (sql: Database, postId: string, kind: string): Promise<string[]> =>
  (
    await sql<{ message: string }[]>`
      select message from post_timeline where post_id = ${postId} and kind = ${kind} order by id`
  ).map(({ message }) => message);
