import { z } from 'zod';
import type { Held, Operations, Post, Published } from './_contract.ts';
import { commentsBelow, Made, Shown } from './_moltbook-reading.ts';

export const Settings = z.looseObject({
  submolt: z
    .string()
    .regex(/^[\w-]{1,100}$/)
    .default('general'),
});
const TITLE = 100;

const MadePost = z.object({ post: Made, verification_required: z.boolean().nullish() });
const MadeComment = z.object({ comment: Made, verification_required: z.boolean().nullish() });
const Recent = z.object({
  recentPosts: z.array(
    z.object({ id: z.string(), title: z.string(), content: z.string().nullish(), created_at: z.coerce.date() }),
  ),
});
const Saved = z.object({ id: z.string().optional() }).catch({});

const published = (id: string): Published => ({ id, url: `https://www.moltbook.com/post/${id}` });
const titleOf = ({ plain }: Post): string =>
  Array.from(plain.replace(/\s+/g, ' ').trim()).slice(0, TITLE).join('').trim(); // the cut may end in a blank

/** What is held back is hidden until its owner has answered a challenge, which is for the owner to see. */
function heldBack({ verification }: z.output<typeof Made>): Held {
  const { challenge_text: text, verification_code: code, expires_at: until } = verification ?? {};
  const challenge =
    text === undefined ? '' : `: “${text}”, verification code ${code}${until ? `, until ${until}` : ''}`;
  return { held: `Moltbook hides it until its owner has answered a challenge${challenge}` };
}

/** Posts and comments; the network may hold back either. */
export const moltbookPosts = {
  async publish({ http, post, saved, save, settings: { submolt } }) {
    const { id: held } = Saved.parse(saved);
    const before = held === undefined ? undefined : await http.find(`/posts/${held}`, Shown);
    if (before?.post.verification_status === 'verified') return published(before.post.id);
    const made = await http.post('/posts', MadePost, {
      // its clients name the community in both ways
      json: { submolt, submolt_name: submolt, title: titleOf(post), content: post.text },
      creates: true,
    });
    await save({ id: made.post.id });
    return made.verification_required ? heldBack(made.post) : published(made.post.id);
  },
  async find({ http, account: name, post, since }) {
    const { recentPosts } = await http.get('/agents/profile', Recent, { query: { name } });
    return recentPosts
      .filter(({ title, created_at }) => created_at >= since && title === titleOf(post))
      .filter(({ content }) => (content ?? post.text) === post.text)
      .map(({ id }) => published(id));
  },
  remove: ({ http, published: { id } }) => http.delete(`/posts/${id}`),
  comment: {
    once: 'read-back',
    replies: true,
    async send({ http, published: { id, url }, parent, post, saved, save }) {
      const { id: held } = Saved.parse(saved);
      if (held !== undefined && (await commentsBelow(http, id)).some((one) => one.id === held))
        return { id: held, url };
      const { comment, verification_required: isHeld } = await http.post(`/posts/${id}/comments`, MadeComment, {
        json: { content: post.text, ...(parent && { parent_id: parent.id }) },
        creates: true,
      });
      await save({ id: comment.id });
      return isHeld ? heldBack(comment) : { id: comment.id, url };
    },
    async find({ http, account, published: { id, url }, parent, post, since }) {
      const all = await commentsBelow(http, id);
      return all
        .filter(({ author, createdAt }) => author.name === account && createdAt >= since)
        .filter(({ text, parentId }) => text === post.text && parentId === parent?.id)
        .map((comment) => ({ id: comment.id, url }));
    },
  },
} satisfies Operations<typeof Settings>;
