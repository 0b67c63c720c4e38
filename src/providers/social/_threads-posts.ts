import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Named } from '../kit/wire/http.ts';
import type { Connection, LookUp, Media, NewComment, Operations, Post, Published } from './_contract.ts';
import { fitted } from './_files.ts';
import { publicUrlOf } from './_limits.ts';
import {
  checkQuota,
  type Containers,
  findMedia,
  Linked,
  pollMedia,
  prepareContainer,
  published,
  publishContainer,
  readMedia,
} from './_meta-containers.ts';
import { altOf, Id, listOf, removeNode } from './_meta-graph.ts';

const PICTURE = { maxBytes: 8_000_000, types: ['image/jpeg', 'image/png'] };
/** A post, or an answer to another one. */
type Item = Pick<Connection, 'http' | 'account'> & { post: Post; replyTo?: string | undefined };

async function fieldsOf(file: Media): Promise<Named> {
  const alt_text = altOf(file);
  if (file.kind === 'video') return { media_type: 'VIDEO', video_url: publicUrlOf(file), alt_text };
  return { media_type: 'IMAGE', image_url: publicUrlOf(await fitted(file, PICTURE)), alt_text };
}
const State = z.object({ status: z.string(), error_message: z.string().nullish() });
const containers = ({ http, account, post, replyTo }: Item): Containers => {
  const item = { text: post.text || undefined, reply_to_id: replyTo };
  return {
    title: 'Threads',
    check: () =>
      checkQuota(http, {
        title: 'Threads',
        path: `/${account}/threads_publishing_limit`,
        of: replyTo === undefined ? 'posts' : 'replies',
      }),
    make: async (fields) => (await http.post(`/${account}/threads`, Id, { form: { ...fields } })).id,
    async state(container) {
      const query = { fields: 'status,error_message' };
      const { status: code, error_message: words } = await http.get(`/${container}`, State, { query });
      return { code, words };
    },
    single: async (file) => ({ ...(file ? await fieldsOf(file) : { media_type: 'TEXT' }), ...item }),
    child: async (file) => ({ ...(await fieldsOf(file)), is_carousel_item: 'true' }),
    parent: (children) => ({ media_type: 'CAROUSEL', children: children.join(','), ...item }),
  };
};
const publishAt = ({ account }: Pick<Item, 'account'>): string => `/${account}/threads_publish`;

const Own = Linked.extend({ text: z.string().default(''), timestamp: z.coerce.date(), replied_to: Id.nullish() });
const seconds = (time: number): string => String(Math.floor(time / 1000));
/** Answers to others are in a list of their own. */
const findItem = (item: Item, { saved, since }: Pick<LookUp, 'saved' | 'since'>) =>
  findMedia(item.http, containers(item), saved, async () => {
    const { http, account, post, replyTo } = item;
    const query = { fields: 'id,text,permalink,timestamp,replied_to', since: seconds(since.getTime()), limit: '50' };
    const edge = replyTo === undefined ? 'threads' : 'replies';
    const { data } = await http.get(`/${account}/${edge}`, listOf(Own), { query });
    return data
      .filter(
        ({ text, timestamp, replied_to }) =>
          timestamp >= since && text.trim() === post.text.trim() && (replied_to?.id ?? replyTo) === replyTo,
      )
      .map(published);
  });
const Repost = Id.extend({ timestamp: z.coerce.date(), reposted_post: Id.nullish() });

/** A later item of a thread answers the one before. */
const itemOf = <C extends { thread: readonly Published[] }>(call: C) => ({ ...call, replyTo: call.thread.at(-1)?.id });
const answerOf = <C extends NewComment>(call: C) => ({ ...call, replyTo: call.parent?.id ?? call.published.id });

/** Posts, threads, answers and reposts: but for reposts a container is prepared, then published. */
export const threadsPosts = {
  prepare: (call) => prepareContainer(containers(call), call),
  prepareReply: (call) => prepareContainer(containers(itemOf(call)), call),
  async publish(call) {
    await publishContainer(call.http, publishAt(call), call);
    return { processingMs: 0 };
  },
  poll: pollMedia,
  find: (call) => findItem(itemOf(call), call),
  remove: ({ http, published: { id } }) => removeNode(http, id),
  comment: {
    once: 'two-phase',
    replies: true,
    async send({ saved, save, ...call }) {
      const attempt = { saved, save: async (state: unknown) => save((attempt.saved = state)), post: call.post };
      const ready = await prepareContainer(containers(answerOf(call)), attempt);
      if (ready !== 'ready') throw refused('unavailable', 'Threads still works on the files', ready.againMs);
      return readMedia(call.http, await publishContainer(call.http, publishAt(call), attempt));
    },
    find: (call) => findItem(answerOf(call), call),
  },
  repost: {
    once: 'read-back',
    async send({ http, repost: { published: of } }) {
      const { id } = await http.post(`/${of.id}/repost`, Id, { creates: true });
      return { id, url: of.url };
    },
    /** Reposts of the account are among its posts. */
    async find({ http, account, repost: { published: of }, since }) {
      const query = { fields: 'id,timestamp,reposted_post', since: seconds(since.getTime()), limit: '50' };
      const { data } = await http.get(`/${account}/threads`, listOf(Repost), { query });
      return data
        .filter(({ timestamp, reposted_post: post }) => timestamp >= since && post?.id === of.id)
        .map(({ id }) => ({ id, url: of.url }));
    },
  },
} satisfies Operations;
