import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import { refused, unlessMade } from '../kit/declare/fallback.ts';
import { newTid } from '../kit/protocols/tid.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Handle, Published } from './_contract.ts';

// The records of an account, and references to them (com.atproto.repo).

export const POST = 'app.bsky.feed.post';
export const REPOST = 'app.bsky.feed.repost';
export const GATE = 'app.bsky.feed.threadgate';

export const Reference = z.object({ uri: z.string(), cid: z.string() });
export type Reference = z.output<typeof Reference>;
/** What an answer needs of a post: `root` is the post above all, where this one is an answer itself. */
const Known = Reference.extend({ root: Reference.optional() });
type Known = z.output<typeof Known>;
const Posts = z.object({
  posts: z.array(
    Reference.extend({ record: z.object({ reply: z.object({ root: Reference }).nullish().catch(undefined) }) }),
  ),
});
/** A record that is not there, or its account. */
export const NotThere = z.object({ error: z.enum(['RecordNotFound', 'RepoNotFound']) });

/** Saved before a record is sent: with the same key and time the same bytes are the same record. */
const Key = z.object({ rkey: z.string(), createdAt: z.string() });
type Key = z.output<typeof Key>;
const savedKey = (saved: unknown): Key | undefined => Key.safeParse(saved).data;
/** The key alone: that of a record which was refused. */
const Refused = Key.pick({ rkey: true }).catch({ rkey: '' });

/**
 * Writes what has this id here under one key, which is saved before, with `beside`. A first attempt that surely made
 * nothing leaves no time to the next: a feed shows a post where its time is.
 */
export async function writeKeyed<T>(
  { clock, saved, save }: Pick<Handle, 'saved' | 'save'> & { clock: Clock },
  id: string,
  write: (key: Key) => Promise<T>,
  beside: object = {},
): Promise<T> {
  const earlier = savedKey(saved);
  if (earlier) return write(earlier);
  const rkey = Refused.parse(saved).rkey || newTid(clock.now(), id);
  const key = { rkey, createdAt: clock.now().toISOString() };
  await save({ ...beside, ...key });
  return unlessMade(
    () => write(key),
    () => save({ ...beside, rkey }),
  );
}

type Repo = { http: Http; account: string };

/** Writes a record under its key. A second one with the same key is refused: `putRecord` writes the same once more. */
export function writeRecord(
  { http, account, saved }: Repo & Pick<Handle, 'saved'>,
  { collection, rkey, record }: { collection: string; rkey: string; record: Readonly<Record<string, unknown>> },
): Promise<Reference> {
  const method = savedKey(saved) ? 'putRecord' : 'createRecord';
  return http.post(`/com.atproto.repo.${method}`, Reference, {
    json: { repo: account, collection, rkey, record: { $type: collection, ...record } },
    creates: true,
  });
}

/** Looks for the record of an attempt by the key that it saved. */
export async function findRecord(
  { http, account }: Repo,
  collection: string,
  saved: unknown,
): Promise<Reference | undefined> {
  const key = savedKey(saved);
  const query = { repo: account, collection, rkey: key?.rkey };
  return key && http.find('/com.atproto.repo.getRecord', Reference, { query, absent: NotThere });
}

export const postAddress = (account: string, uri: string): string =>
  `https://bsky.app/profile/${account}/post/${uri.split('/').at(-1)}`;

/** The post as the room keeps it, with what an answer to it needs. */
export const publishedAs = (account: string, { uri, cid }: Reference, root?: Reference): Published => ({
  id: uri,
  url: postAddress(account, uri),
  saved: { uri, cid, ...(root && { root }) } satisfies Known,
});

/** What an answer needs of a post: as it was kept, else as the network tells. */
export async function known(http: Http, { id, saved }: Pick<Published, 'id' | 'saved'>): Promise<Known> {
  const kept = Known.safeParse(saved).data;
  if (kept) return kept;
  const { posts } = await http.get('/app.bsky.feed.getPosts', Posts, { query: { uris: [id] } });
  const [post] = posts;
  if (!post) throw refused('rejected', `The post is gone: ${id}`);
  return { uri: post.uri, cid: post.cid, ...(post.record.reply && { root: post.record.reply.root }) };
}
