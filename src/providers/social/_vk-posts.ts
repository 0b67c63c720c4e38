import { z } from 'zod';
import { sameText } from '../kit/protocols/text.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import type { Connection, Operations } from './_contract.ts';
import { uploadEach } from './_files.ts';
import { ownComments, writeComment } from './_vk-comments.ts';
import { attach } from './_vk-upload.ts';
import { ANSWER_BYTES, answered, partsOf, postAt, WallPost } from './_vk-wall.ts';

const Wall = answered(z.object({ items: z.array(WallPost) }));
/** `attached`: the uploaded files of the post in order, as the wall names them. */
const Saved = z.object({ attached: z.array(z.string()) }).catch({ attached: [] });
/** As many posts as VK takes in a day. */
const NEWEST = '50';

async function newestOf({ http, account }: Pick<Connection, 'http' | 'account'>) {
  const query = { domain: `id${account}`, filter: 'owner', count: NEWEST };
  return (await http.get('/wall.get', Wall, { query, answerBytes: ANSWER_BYTES })).response.items;
}

/** Posts of the wall, comments below posts, and reposts. */
export const vkPosts = {
  prepare: ({ post, saved, save, ...call }) =>
    uploadEach(
      post.media,
      Saved.parse(saved).attached,
      (file) => attach(call, file),
      (attached) => save({ attached }),
    ),
  async publish({ http, account, post, saved }) {
    const { attached } = Saved.parse(saved);
    const { response } = await http.post('/wall.post', answered(z.object({ post_id: z.int() })), {
      form: {
        owner_id: account,
        message: post.text,
        guid: post.id,
        ...(attached.length > 0 && { attachments: attached.join(',') }),
      },
      creates: true,
    });
    return postAt(account, response.post_id);
  },
  async find({ http, account, post, since }) {
    const own = await newestOf({ http, account });
    return own
      .filter(
        ({ date, text: written, attachments, copy_history: copied }) =>
          date >= since &&
          sameText(written, post.text) &&
          attachments.length >= post.media.length &&
          copied.length === 0,
      )
      .map(({ id }) => postAt(account, id));
  },
  async remove({ http, published: { id } }) {
    const { owner: owner_id, post: post_id, comment: comment_id } = partsOf(id);
    if (comment_id !== undefined)
      await http.post('/wall.deleteComment', z.unknown(), { form: { owner_id, comment_id } });
    else await http.post('/wall.delete', z.unknown(), { form: { owner_id, post_id } });
  },
  comment: {
    once: 'key',
    replies: true,
    limits: WITHOUT_FILES,
    send: (call) => writeComment(call),
    find: (call) => ownComments(call),
  },
  repost: {
    once: 'read-back',
    async send({ http, account, repost }) {
      const { response } = await http.post('/wall.repost', answered(z.object({ post_id: z.int() })), {
        form: { object: `wall${repost.published.id}` },
        creates: true,
      });
      return postAt(account, response.post_id);
    },
    async find({ http, account, repost, since }) {
      const own = await newestOf({ http, account });
      return own
        .filter(({ date, copy_history: [of] }) => {
          return date >= since && of && `${of.owner_id}_${of.id}` === repost.published.id;
        })
        .map(({ id }) => postAt(account, id));
    },
  },
} satisfies Operations;
