import { z } from 'zod';
import { singleLine } from '../kit/declare/setting-texts.ts';
import type { Http } from '../kit/wire/http.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import type { Operations, Published } from './_contract.ts';
import { sinceThen } from './_lists.ts';
import { prepareFiles, Saved } from './_whop-files.ts';
import { experienceOf, ForumPost, PAGE, Posts, published, type Read } from './_whop-reading.ts';

export const Settings = z.looseObject({
  company: z.string().regex(/^\w{1,100}$/),
  experience: z.string().regex(/^\w{1,100}$/),
  title: singleLine(255).optional(),
});
const sameText = (a: string | null | undefined, b: string) => (a ?? '').trim() === b.trim();

interface Looked {
  http: Http;
  account: string;
  experience: string;
  parent?: string;
  since: Date;
  fits: (one: Read) => boolean;
}
/** Lists own posts of a forum since then, or own comments below a post. */
async function ownPosts({ http, account, experience, parent, since, fits }: Looked): Promise<Published[]> {
  const { data } = await http.get('/forum_posts', Posts, {
    query: { experience_id: experience, parent_id: parent, first: PAGE },
  });
  return sinceThen(data, Number(PAGE), (one) => one.created_at >= since)
    .filter((one) => one.user.id === account && (one.parent_id ?? undefined) === parent && fits(one))
    .map(({ id }) => published(experience, id));
}

/** Posts of a forum, and comments, which are posts below others. */
export const forumPosts = {
  prepare: (call) => prepareFiles(call),
  async publish({ http, post, settings: { experience, title }, saved }) {
    const { files } = Saved.parse(saved);
    const json = {
      experience_id: experience,
      content: post.text,
      ...(title && { title }),
      ...(files.length > 0 && { attachments: files.map((id) => ({ id })) }),
    };
    const { id } = await http.post('/forum_posts', ForumPost, { json, creates: true });
    return published(experience, id);
  },
  find: ({ http, account, post, settings: { experience, title }, since }) =>
    ownPosts({
      http,
      account,
      experience,
      since,
      fits: (one) =>
        sameText(one.title, title ?? '') &&
        sameText(one.content, post.text) &&
        one.attachments.length === post.media.length,
    }),
  comment: {
    once: 'read-back',
    replies: true,
    limits: WITHOUT_FILES,
    async send({ http, post, published: of, parent }) {
      const experience = experienceOf(of);
      const json = { experience_id: experience, parent_id: parent?.id ?? of.id, content: post.text };
      const { id } = await http.post('/forum_posts', ForumPost, { json, creates: true });
      return published(experience, id);
    },
    find: ({ http, account, post, published: of, parent, since }) =>
      ownPosts({
        http,
        account,
        experience: experienceOf(of),
        parent: parent?.id ?? of.id,
        since,
        fits: (one) => sameText(one.content, post.text),
      }),
  },
} satisfies Operations<typeof Settings>;
