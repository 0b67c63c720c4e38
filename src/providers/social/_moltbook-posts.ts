import { z } from 'zod';
import type { Clock } from '../../platform/kernel/index.ts';
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
/** `held`: what the owner is told of one that is held back, and `until` can be answered. */
const Saved = z
  .object({ id: z.string().optional(), held: z.string().optional(), until: z.string().optional() })
  .catch({});
type Saved = z.output<typeof Saved>;
/** The time to answer a challenge, where it is not told. */
const CHALLENGE_MS = 5 * 60_000;

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

/** What an attempt saves of what it made. */
const savedOf = (clock: Clock, made: z.output<typeof Made>, isHeld: boolean | null | undefined): Saved => ({
  id: made.id,
  ...(isHeld && {
    ...heldBack(made),
    until: made.verification?.expires_at ?? clock.in(CHALLENGE_MS).toISOString(),
  }),
});
/** The same challenge again while it can be answered: the answer would show the first one beside a second one. */
const stillHeld = (clock: Clock, { held, until }: Saved): Held | undefined =>
  held !== undefined && until !== undefined && new Date(until) > clock.now() ? { held } : undefined;

/** Posts and comments; the network may hold back either. */
export const moltbookPosts = {
  async publish({ http, clock, post, saved, save, settings: { submolt } }) {
    const earlier = Saved.parse(saved);
    const before = earlier.id === undefined ? undefined : await http.find(`/posts/${earlier.id}`, Shown);
    if (before?.post.verification_status === 'verified') return published(before.post.id);
    const waits = stillHeld(clock, earlier);
    if (waits) return waits;
    const made = await http.post('/posts', MadePost, {
      // its clients name the community in both ways
      json: { submolt, submolt_name: submolt, title: titleOf(post), content: post.text },
      creates: true,
    });
    await save(savedOf(clock, made.post, made.verification_required));
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
    async send({ http, clock, published: { id, url }, parent, post, saved, save }) {
      const earlier = Saved.parse(saved);
      const { id: held } = earlier;
      if (held !== undefined && (await commentsBelow(http, id)).some((one) => one.id === held))
        return { id: held, url };
      const waits = stillHeld(clock, earlier);
      if (waits) return waits;
      const { comment, verification_required: isHeld } = await http.post(`/posts/${id}/comments`, MadeComment, {
        json: { content: post.text, ...(parent && { parent_id: parent.id }) },
        creates: true,
      });
      await save(savedOf(clock, comment, isHeld));
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
